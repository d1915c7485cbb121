// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { describe, format } from './describe';

class Cart {
  items = ['kettle'];
  get total(): number {
    throw new Error('a getter was run');
  }
}

test.each<[unknown[], string]>([
  [[], ''],
  [['plain'], 'plain'],
  [['100%'], '100%'],
  [['%s has %d of %i, %f', 'cart', 2.7, '3.9', 1.5], 'cart has 2 of 3, 1.5'],
  [['%c[app]%c ready', 'color: red', ''], '[app] ready'],
  [['%s'], '%s'],
  [['%d', 'x'], 'NaN'],
  [['100%% of %o', { a: 1 }, 'more'], '100% of {a: 1} more'],
  [['%x', 1], '%x 1'],
  [[1, null, undefined, true, 10n, Symbol('s')], '1 null undefined true 10n Symbol(s)'],
  [
    [{ a: 1, b: 'two', c: [1, 2], d: { e: 1 }, f: () => 1, g: 6 }],
    "{a: 1, b: 'two', c: Array(2), d: {…}, f: ƒ, …}",
  ],
  [[[1, 'two', { a: 1 }, [3]]], "[1, 'two', {…}, Array(1)]"],
  [[new Cart()], 'Cart {items: Array(1)}'],
  [[new Map([['a', 1]])], "Map(1) {'a' => 1}"],
  [[new Set([1, 2, 3, 4, 5, 6])], 'Set(6) {1, 2, 3, 4, 5, …}'],
  [[{ when: /x/g }], '{when: /x/g}'],
  [[new TypeError('not a function')], 'TypeError: not a function'],
  [
    [new Error('not saved', { cause: new Error('disk is full') })],
    'Error: not saved (cause: Error: disk is full)',
  ],
  [[new Error('not saved', { cause: 'disk full' })], "Error: not saved (cause: 'disk full')"],
  [[new AggregateError([], 'none')], 'AggregateError: none'],
  [
    [new AggregateError([new TypeError('one'), 'two, three'], 'both failed', { cause: 1 })],
    "AggregateError: both failed (cause: 1, errors: [TypeError: one, 'two, three'])",
  ],
  [
    [new AggregateError([1, 2, 3, 4, 5, 6], 'six failed')],
    'AggregateError: six failed (errors: [1, 2, 3, 4, 5, …])',
  ],
  [[{ cause: new RangeError('deep') }], '{cause: RangeError: deep}'],
  [[function named() {}, class Shop {}], 'ƒ named() class Shop'],
  [[Object.create(null)], '{}'],
])('row %# is told as in a console', (args, text) => {
  expect(format(args)).toBe(text);
});

test('getters, toString and toJSON are not run', () => {
  let ran = 0;
  const spy = {
    get x() {
      return ++ran;
    },
    toString: () => String(++ran),
    toJSON: () => ++ran,
    [Symbol.toPrimitive]: () => ++ran,
  };
  expect(describe(spy)).toContain('x: (...)');
  format(['%s %d %i', spy, spy, spy]);
  expect(ran).toBe(0);
});

test('what throws when it is looked at is told all the same', () => {
  const trap = () => {
    throw new Error('trapped');
  };
  expect(describe(new Proxy({}, { ownKeys: trap, getPrototypeOf: trap, get: trap }))).toBe('Object');
});
