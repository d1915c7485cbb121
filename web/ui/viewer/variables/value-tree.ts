/** A tree of values as the rows in which it is shown: pure. */
import type { ViewScope, ViewValue } from '../../../../extension/protocol';

/** One row: a scope, a value, or the word of what stands there besides. */
export interface TreeRow {
  /** The way to it by places, the scope first: the same for as long as the tree is. */
  readonly id: string;
  /** 1 for a scope. */
  readonly level: number;
  readonly parent: string | undefined;
  /** Where it stands among the rows below the same parent, from 1 on, and how many those are. */
  readonly place: number;
  readonly of: number;
  readonly scope?: ViewScope;
  readonly value?: ViewValue;
  /** How much its parent holds that is not shown: because it has not changed, or because there is too much. */
  readonly same?: number;
  readonly more?: number;
  /** Undefined for what holds nothing that is shown. */
  readonly open: boolean | undefined;
}

/** What a person has opened and closed, by the rows' ids; what is not in it is as it was at first. */
export type Opened = ReadonlyMap<string, boolean>;

/** A tree of up to so many values is open at first. */
const OPEN_AT_FIRST = 200;

/** Whether a difference is few enough values to be open at first. */
export function isSmall(scopes: readonly ViewScope[]): boolean {
  let left = OPEN_AT_FIRST;
  const count = (values: readonly ViewValue[]): void => {
    for (const { children = [] } of values) {
      if (--left < 0) return;
      count(children);
    }
  };
  for (const { values } of scopes) count(values);
  return left >= 0;
}

/** Whether a value, or what it holds, contains a text; `text` is in lower case. */
function holds(value: ViewValue, text: string): boolean {
  const { name, value: now = '', old = '', type, children = [] } = value;
  return (
    [name, now, old, type].some((part) => part.toLowerCase().includes(text)) ||
    children.some((child) => holds(child, text))
  );
}

/** The rows that are shown: those of open values, or with a text those that lead to it. */
export function treeRows(
  scopes: readonly ViewScope[],
  opened: Opened,
  openAtFirst: boolean,
  search = '',
): TreeRow[] {
  const rows: TreeRow[] = [];
  const text = search.toLowerCase();
  const kept = (values: readonly ViewValue[]): { value: ViewValue; at: number }[] =>
    values.map((value, at) => ({ value, at })).filter(({ value }) => text === '' || holds(value, text));
  const below = (
    parent: string,
    level: number,
    values: readonly ViewValue[],
    same: number,
    more: number,
  ): void => {
    const shown = kept(values);
    const of = shown.length + (same > 0 ? 1 : 0) + (more > 0 ? 1 : 0);
    shown.forEach(({ value, at }, i) => {
      const id = `${parent}.${at}`;
      const { children = [], same = 0, more = 0 } = value;
      const inner = children.length + same + more > 0;
      const open = inner
        ? (opened.get(id) ?? (openAtFirst || (text !== '' && kept(children).length > 0)))
        : undefined;
      rows.push({ id, level, parent, place: i + 1, of, value, open });
      if (open === true) below(id, level + 1, children, same, more);
    });
    let place = shown.length;
    if (same > 0)
      rows.push({ id: `${parent}.same`, level, parent, place: ++place, of, same, open: undefined });
    if (more > 0)
      rows.push({ id: `${parent}.more`, level, parent, place: ++place, of, more, open: undefined });
  };
  const shown = scopes.filter(({ values }) => kept(values).length > 0);
  shown.forEach((scope, i) => {
    const id = scope.scope;
    const open = opened.get(id) ?? true;
    rows.push({ id, level: 1, parent: undefined, place: i + 1, of: shown.length, scope, open });
    if (open) below(id, 2, scope.values, 0, 0);
  });
  return rows;
}

/** Where a key of the arrows leads: to another row, or to opening or closing one. */
export type TreeMove = { to: string } | { open: string } | { close: string } | undefined;

/** What a key does in the row of an id, as in trees elsewhere. */
export function treeMove(rows: readonly TreeRow[], id: string, key: string): TreeMove {
  const at = rows.findIndex((row) => row.id === id);
  const row = rows[at];
  if (row === undefined) return undefined;
  const to = (next: TreeRow | undefined): TreeMove => (next === undefined ? undefined : { to: next.id });
  switch (key) {
    case 'ArrowDown':
      return to(rows[at + 1]);
    case 'ArrowUp':
      return to(rows[at - 1]);
    case 'Home':
      return to(rows[0]);
    case 'End':
      return to(rows.at(-1));
    case 'ArrowRight':
      if (row.open === undefined) return undefined;
      return row.open ? to(rows[at + 1]) : { open: id };
    case 'ArrowLeft':
      if (row.open === true) return { close: id };
      return row.parent === undefined ? undefined : { to: row.parent };
    case 'Enter':
    case ' ':
      if (row.open === undefined) return undefined;
      return row.open ? { close: id } : { open: id };
    default:
      return undefined;
  }
}
