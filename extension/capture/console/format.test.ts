import type { Protocol } from 'devtools-protocol';
import { expect, test } from 'vitest';
import { describe, errorHead, formatArguments } from './format';

type RemoteObject = Protocol.Runtime.RemoteObject;

const string = (value: string): RemoteObject => ({ type: 'string', value });
const number = (value: number): RemoteObject => ({ type: 'number', value, description: String(value) });
const object = (
  description: string,
  properties: Protocol.Runtime.PropertyPreview[],
  rest: Partial<RemoteObject> & Partial<Protocol.Runtime.ObjectPreview> = {},
): RemoteObject => ({
  type: 'object',
  description,
  ...(rest.subtype !== undefined && { subtype: rest.subtype }),
  preview: {
    type: 'object',
    description,
    overflow: false,
    properties,
    ...rest,
  } as Protocol.Runtime.ObjectPreview,
});

test('format strings', () => {
  expect(formatArguments([string('early error %s'), string('x')])).toBe('early error x');
  expect(formatArguments([string('%d of %i, %f'), number(3.7), string('4.2'), number(0.5)])).toBe(
    '3 of 4, 0.5',
  );
  expect(formatArguments([string('%cred%c plain'), string('color: red'), string('')])).toBe('red plain');
  expect(formatArguments([string('100 %% of %s'), string('it'), string('rest')])).toBe('100 % of it rest');
  expect(formatArguments([string('%s and %s'), string('one')])).toBe('one and %s');
  expect(formatArguments([string('50% off'), string('today')])).toBe('50% off today');
  expect(formatArguments([string('%d'), string('many')])).toBe('NaN');
  expect(formatArguments([string('%o'), object('Object', [{ name: 'a', type: 'number', value: '1' }])])).toBe(
    '{a: 1}',
  );
});

test('what is no string is not read as a format', () => {
  expect(formatArguments([number(1), string('%s'), string('x')])).toBe('1 %s x');
  expect(formatArguments([])).toBe('');
});

test('values', () => {
  expect(describe({ type: 'undefined' })).toBe('undefined');
  expect(describe({ type: 'object', subtype: 'null', value: null })).toBe('null');
  expect(describe({ type: 'number', unserializableValue: '-0', description: '-0' })).toBe('-0');
  expect(describe({ type: 'bigint', unserializableValue: '12n', description: '12n' })).toBe('12n');
  expect(describe({ type: 'boolean', value: false })).toBe('false');
  expect(describe({ type: 'symbol', description: 'Symbol(s)' })).toBe('Symbol(s)');
  expect(describe({ type: 'function', description: 'function foo(a) { return a }' })).toBe('ƒ foo()');
  expect(describe({ type: 'function', description: '() => 1' })).toBe('ƒ ()');
  expect(describe({ type: 'function', description: 'class Foo { }' })).toBe('class Foo');
});

test('objects by their preview', () => {
  const nested = object('Foo', [
    { name: 'a', type: 'object', value: 'Array(2)', subtype: 'array' },
    { name: 'b', type: 'string', value: 'x' },
    { name: 'c', type: 'object', value: 'Object' },
    { name: 'd', type: 'function', value: '' },
    { name: 'e', type: 'object', subtype: 'null', value: 'null' },
    { name: 'f', type: 'accessor', value: '' },
  ]);
  expect(describe(nested)).toBe("Foo {a: Array(2), b: 'x', c: {…}, d: ƒ, e: null, f: (...)}");
  const list = object('Array(3)', [{ name: '0', type: 'number', value: '1' }], {
    subtype: 'array',
    overflow: true,
  });
  expect(describe(list)).toBe('[1, …]');
  const map = object('Map(1)', [], {
    subtype: 'map',
    entries: [
      {
        key: { type: 'string', description: 'k', overflow: false, properties: [] },
        value: { type: 'number', description: '1', overflow: false, properties: [] },
      },
    ],
  });
  expect(describe(map)).toBe("Map(1) {'k' => 1}");
});

test('an error with its cause', () => {
  const error = (cause: object) =>
    describe({
      type: 'object',
      subtype: 'error',
      description: 'Error: not saved\n    at a.js:1:1',
      preview: {
        type: 'object',
        overflow: false,
        properties: [{ name: 'cause', ...cause }],
      } as Protocol.Runtime.ObjectPreview,
    });
  expect(error({ type: 'object', subtype: 'error', value: 'Error: disk is full\n    at b.js:1:1' })).toBe(
    'Error: not saved (cause: Error: disk is full)',
  );
  expect(error({ type: 'string', value: 'disk full' })).toBe("Error: not saved (cause: 'disk full')");
  expect(error({ type: 'undefined', value: 'undefined' })).toBe('Error: not saved');
  expect(error({ type: 'accessor' })).toBe('Error: not saved');
});

test('errors without their stack', () => {
  expect(errorHead('TypeError: x is not a function\n    at f (a.js:1:2)\n    at b.js:3:4')).toBe(
    'TypeError: x is not a function',
  );
  expect(errorHead('Error: two\nlines\n    at a.js:1:1')).toBe('Error: two\nlines');
  expect(describe({ type: 'object', subtype: 'error', description: 'Error: boom\n    at a.js:1:1' })).toBe(
    'Error: boom',
  );
});
