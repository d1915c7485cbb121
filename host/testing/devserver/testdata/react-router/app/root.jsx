import { Links, Meta, Outlet, Scripts } from 'react-router';
import '../src/app.css';

export const links = () => [{ rel: 'icon', href: 'data:,' }];

export default function Root() {
  return (
    <html lang="en">
      <head>
        <Meta />
        <Links />
      </head>
      <body>
        <Outlet />
        <Scripts />
      </body>
    </html>
  );
}
