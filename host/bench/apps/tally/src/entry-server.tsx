import { renderToString } from 'react-dom/server';
import { App } from './App';
import type { Session } from './machines/auth';

export function render(url: string, session: Session | null) {
  return renderToString(<App session={session} path={url.split('?')[0]} />);
}
