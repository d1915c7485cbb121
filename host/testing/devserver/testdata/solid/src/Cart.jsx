import { price } from './price.js';

export function Cart(props) {
  const total = () => props.cart.lines.reduce((sum, line) => sum + line.cents, 0);
  return (
    <p>
      {props.cart.lines.length} in the cart, {price(total())}
    </p>
  );
}
