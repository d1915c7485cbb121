import { price } from './price.js';

export function Cart({ cart }) {
  const total = cart.lines.reduce((sum, line) => sum + line.cents, 0);
  return (
    <p>
      {cart.lines.length} in the cart, {price(total)}
    </p>
  );
}
