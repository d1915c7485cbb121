import { createEffect, createSignal, For, onMount } from 'solid-js';
import { items } from './api.js';
import { Cart } from './Cart.jsx';
import { add, empty } from './cart.js';
import { Item } from './Item.jsx';
import { title } from './title.js';

export default function App() {
  const [list, setList] = createSignal([]);
  const [cart, setCart] = createSignal(empty);
  onMount(async () => {
    setList(await items());
  });
  createEffect(() => {
    document.title = title(list().length);
  });
  return (
    <main>
      <h1>Items</h1>
      <ul>
        <For each={list()}>
          {(item) => <Item item={item} onAdd={() => setCart(add(cart(), item))} />}
        </For>
      </ul>
      <Cart cart={cart()} />
    </main>
  );
}
