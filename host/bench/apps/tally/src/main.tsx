import { hydrateRoot } from 'react-dom/client';
import { App } from './App';
import type { Session } from './machines/auth';

declare global {
  interface Window {
    session: Session | null;
  }
}

const root = document.getElementById('root');
if (root) hydrateRoot(root, <App session={window.session} path={window.location.pathname} />);
