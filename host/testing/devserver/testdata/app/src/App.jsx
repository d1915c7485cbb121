import { useEffect, useReducer, useState } from 'react';
import { items } from './api.js';
import { Cart } from './Cart.jsx';
import { add, empty } from './cart.js';
import { Item } from './Item.jsx';
import { title } from './title.js';

export default function App() {
  const [list, setList] = useState([]);
  const [cart, dispatch] = useReducer(add, empty);
  useEffect(() => {
    items().then(setList);
  }, []);
  useEffect(() => {
    document.title = title(list.length);
  }, [list]);
  return (
    <main>
      <h1>Items</h1>
      <ul>
        {list.map((item) => (
          <Item key={item.name} item={item} onAdd={() => dispatch(item)} />
        ))}
      </ul>
      <Cart cart={cart} />
    </main>
  );
}
