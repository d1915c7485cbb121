/** The viewer's requests as requests of the live API (docs/API.md). */
import { ROUTES, type ViewMethods } from '../../extension/methods';

/** A request: its path below /api/ with its query, and its body where it has one. */
export interface Route {
  method: string;
  path: string;
  body?: unknown;
}

/** A path with its query. Empty values, 0 and false are the API's defaults and left out, objects are spread. */
export function withQuery(path: string, query: object): string {
  const search = new URLSearchParams();
  const add = (values: object): void => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined || value === '' || value === 0 || value === false) continue;
      if (Array.isArray(value)) {
        if (value.length > 0) search.set(name, value.join(','));
      } else if (typeof value === 'object') add(value);
      else search.set(name, String(value));
    }
  };
  add(query);
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The request of a method. */
export function routeOf<M extends keyof ViewMethods>(name: M, params: ViewMethods[M]['params']): Route {
  const [method = '', path = ''] = ROUTES[name].split(' ');
  const rest: Record<string, unknown> = { ...params };
  const filled = path.replace(/\{(\w+)\}/g, (_, key) => {
    const value = rest[key];
    delete rest[key];
    return encodeURIComponent(String(value));
  });
  if (method === 'GET' || method === 'DELETE') return { method, path: withQuery(filled, rest) };
  return { method, path: filled, ...(Object.keys(rest).length > 0 && { body: rest }) };
}
