/** The viewer's questions as requests of the live API (docs/API.md). */
import type { ViewPositions } from '../protocol';
import type { ViewMethods } from '../ui/client';

/** A request: its path below /api/ with its query, and its body where it has one. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
}

type Value = string | number | boolean | readonly (string | number)[] | undefined;

/** A path with its query; what is empty, 0 or false is the API's default and left out. */
export function withQuery(path: string, query: Readonly<Record<string, Value>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === '' || value === 0 || value === false) continue;
    if (Array.isArray(value)) {
      if (value.length > 0) search.set(name, value.join(','));
    } else search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Positions as a query has them. */
export function positionsQuery(
  after: Partial<ViewPositions> | undefined,
): Record<string, number | undefined> {
  return { ...after };
}

const get = (path: string, query: Readonly<Record<string, Value>>): Route => ({
  method: 'GET',
  path: withQuery(path, query),
});

const ROUTES: { [M in keyof ViewMethods]: (params: ViewMethods[M]['params']) => Route } = {
  view_overview: ({ tab }) => get('overview', { tab }),
  view_timeline: ({ after, tab, limit, wait_ms, marks }) =>
    get('timeline', { tab, limit, wait_ms, marks, ...positionsQuery(after) }),
  view_checkpoints: ({ tab }) => get('checkpoints', { tab }),
  view_report: (p) => get('report', { ...p }),
  view_entries: (p) => get('entries', { ...p }),
  view_hidden: (p) => get('hidden', { ...p }),
  view_calls: (p) => get('calls', { ...p }),
  view_hold: ({ agent, held }) => ({ method: 'PUT', path: `agents/${agent}/hold`, body: { held } }),
  view_stop: ({ id, stopped }) => ({ method: 'PUT', path: `agents/${id}/stop`, body: { stopped } }),
  view_checkpoint_create: ({ name, note, tab }) => ({
    method: 'POST',
    path: 'checkpoints',
    body: { name, note, tab },
  }),
  view_checkpoint_rename: ({ name, to, tab }) => ({
    method: 'PATCH',
    path: `checkpoints/${encodeURIComponent(name)}`,
    body: { to, tab },
  }),
  view_checkpoint_delete: ({ name, tab }) => ({
    method: 'DELETE',
    path: withQuery(`checkpoints/${encodeURIComponent(name)}`, { tab }),
  }),
  view_ignore: (body) => ({ method: 'POST', path: 'noise', body }),
  view_unignore: ({ id }) => ({ method: 'DELETE', path: `noise/${encodeURIComponent(id)}` }),
  view_page: (body) => ({ method: 'POST', path: 'page', body }),
  view_variables: ({ tab }) => get('variables', { tab }),
  view_variable_tree: (p) => get('variables/tree', { ...p }),
  view_resume: ({ tab }) => ({ method: 'POST', path: `tabs/${tab}/resume` }),
};

/** The request that asks a question. */
export function routeOf<M extends keyof ViewMethods>(method: M, params: ViewMethods[M]['params']): Route {
  return ROUTES[method](params);
}
