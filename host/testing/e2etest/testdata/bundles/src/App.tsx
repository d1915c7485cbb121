/** @jsxRuntime classic */
/** @jsx h */
import { type Item, total } from './cart/index';
import { h } from './h';

interface Props {
  items: Item[];
}

export function App({ items }: Props): HTMLElement {
  const broken = (): void => {
    const cart = JSON.parse('null') as { id: number };
    document.title = String(cart.id); // line 13
  };
  return (
    <button id="break" onclick={broken}>
      Total {total(items)}
    </button>
  );
}
