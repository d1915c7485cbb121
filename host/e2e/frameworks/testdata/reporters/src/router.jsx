import { createRoot } from 'react-dom/client';
import { createBrowserRouter, Link, Outlet } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { pay, total } from './cart.js';

// Shell is what every route shows around its own part.
function Shell() {
  return (
    <>
      <header>
        <h1>Stationery</h1>
        <nav aria-label="Sections">
          {Array.from({ length: 30 }, (_, i) => (
            <a key={i} href={`/section/${i}`}>{`Section ${i}`}</a>
          ))}
        </nav>
        <nav aria-label="Shop">
          <Link to="/">Home</Link> <Link to="/orders">Orders</Link> <Link to="/orders/7">Order 7</Link> <Link to="/sum">Sum</Link> <Link to="/paid">Paid</Link>
        </nav>
      </header>
      <main>
        <Outlet />
      </main>
      <footer>{Array.from({ length: 20 }, (_, i) => <button key={i} type="button">{`Footer ${i}`}</button>)}</footer>
    </>
  );
}

function Orders() {
  return (
    <>
      <h2>Orders</h2>
      <button type="button">Export orders</button>
    </>
  );
}

function Order() {
  return (
    <>
      <h2>Order 7</h2>
      <label>
        Note <input />
      </label>
    </>
  );
}

function Sum() {
  return <p>{total({})}</p>;
}

const router = createBrowserRouter([
  {
    element: <Shell />,
    children: [
      { path: '/', element: <h2>Welcome</h2> },
      { path: '/orders', element: <Orders /> },
      { path: '/orders/7', element: <Order /> },
    ],
  },
  { path: '/sum', element: <Sum /> },
  { path: '/paid', loader: pay, element: <p>Paid</p> },
]);

createRoot(document.getElementById('app')).render(<RouterProvider router={router} />);
