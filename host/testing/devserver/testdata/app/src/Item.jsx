import { price } from './price.js';

export function Item({ item, onAdd }) {
  return (
    <li>
      {item.name} {price(item.cents)}{' '}
      <button type="button" onClick={onAdd}>
        Add
      </button>
    </li>
  );
}
