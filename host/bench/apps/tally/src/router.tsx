import { createContext, type MouseEvent, type ReactNode, useContext, useEffect, useState } from 'react';

const Route = createContext({ path: '/', go: (_path: string) => {} });

export const useRoute = () => useContext(Route);

export function Router({ path: first, children }: { path: string; children: ReactNode }) {
  const [path, setPath] = useState(first);
  useEffect(() => {
    const moved = () => setPath(window.location.pathname);
    window.addEventListener('popstate', moved);
    return () => window.removeEventListener('popstate', moved);
  }, []);
  const go = (next: string) => {
    window.history.pushState(null, '', next);
    setPath(next);
  };
  return <Route.Provider value={{ path, go }}>{children}</Route.Provider>;
}

export function Link({ to, children }: { to: string; children: ReactNode }) {
  const { path, go } = useRoute();
  const follow = (event: MouseEvent) => {
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={follow} aria-current={path === to ? 'page' : undefined}>
      {children}
    </a>
  );
}
