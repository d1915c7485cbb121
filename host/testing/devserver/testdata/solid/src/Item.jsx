import { price } from './price.js';

export function Item(props) {
  return (
    <li>
      {props.item.name} {price(props.item.cents)}{' '}
      <button type="button" onClick={props.onAdd}>
        Add
      </button>
    </li>
  );
}
