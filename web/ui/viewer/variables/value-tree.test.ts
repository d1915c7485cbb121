import { expect, test } from 'vitest';
import type { ViewScope } from '../../../../extension/protocol';
import { isSmall, treeMove, treeRows } from './value-tree';

const scopes: ViewScope[] = [
  {
    scope: 'local',
    values: [
      { name: 'retryCount', type: 'number', change: 'modified', old: '2', value: '3' },
      {
        name: 'order',
        type: 'Order',
        value: 'Order {…2}',
        same: 1,
        children: [
          {
            name: 'Customer',
            type: 'Object',
            value: 'Object {…2}',
            more: 3,
            children: [{ name: 'Name', type: 'string', change: 'added', value: '"Ada"' }],
          },
        ],
      },
    ],
  },
  { scope: 'this', values: [{ name: 'this', type: 'Job', value: 'Job {}' }] },
];

const ids = (opened: [string, boolean][] = [], atFirst = false, search = ''): string[] =>
  treeRows(scopes, new Map(opened), atFirst, search).map(({ id }) => id);

test('scopes are open at first, what variables hold is not', () => {
  expect(ids()).toEqual(['local', 'local.0', 'local.1', 'this', 'this.0']);
});

test('an opened value shows what it holds, what is unchanged and what is not shown counted', () => {
  expect(ids([['local.1', true]])).toEqual([
    'local',
    'local.0',
    'local.1',
    'local.1.0',
    'local.1.same',
    'this',
    'this.0',
  ]);
  expect(ids([], true)).toContain('local.1.0.more');
  expect(ids([['local', false]], true)).toEqual(['local', 'this', 'this.0']);
});

test('rows say where they stand', () => {
  const rows = treeRows(scopes, new Map(), true);
  const same = rows.find(({ id }) => id === 'local.1.same');
  expect(same).toMatchObject({ level: 3, place: 2, of: 2, parent: 'local.1' });
  expect(rows.find(({ id }) => id === 'local.0')?.open).toBeUndefined();
});

test('a search leaves what leads to it', () => {
  expect(ids([], false, 'ada')).toEqual([
    'local',
    'local.1',
    'local.1.0',
    'local.1.0.0',
    'local.1.0.more',
    'local.1.same',
  ]);
  expect(ids([], false, 'nowhere')).toEqual([]);
});

test('the arrow keys move as in any tree', () => {
  const rows = treeRows(scopes, new Map([['local.1', true]]), false);
  expect(treeMove(rows, 'local', 'ArrowDown')).toEqual({ to: 'local.0' });
  expect(treeMove(rows, 'local', 'ArrowUp')).toBeUndefined();
  expect(treeMove(rows, 'local.1', 'ArrowRight')).toEqual({ to: 'local.1.0' });
  expect(treeMove(rows, 'local.1', 'ArrowLeft')).toEqual({ close: 'local.1' });
  expect(treeMove(rows, 'local.1.0', 'ArrowRight')).toEqual({ open: 'local.1.0' });
  expect(treeMove(rows, 'local.1.0', 'ArrowLeft')).toEqual({ to: 'local.1' });
  expect(treeMove(rows, 'local.0', 'Enter')).toBeUndefined();
  expect(treeMove(rows, 'local.1', ' ')).toEqual({ close: 'local.1' });
  expect(treeMove(rows, 'local', 'End')).toEqual({ to: 'this.0' });
  expect(treeMove(rows, 'local', 'x')).toBeUndefined();
});

test('only a small tree is open at first', () => {
  expect(isSmall(scopes)).toBe(true);
  const values = Array.from({ length: 201 }, (_, i) => ({ name: `v${i}`, type: 'number', value: '1' }));
  expect(isSmall([{ scope: 'local', values }])).toBe(false);
});
