// @vitest-environment happy-dom
import type { Protocol } from 'devtools-protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatArguments } from '../capture/console/format';
import { read } from '../debugging/inspect/values';
import { redactCut } from '../redact/redact';
import { format } from './describe';
import { abbreviated, keyText, quoted } from './literal';
import { CUT } from './records';

type Remote = Protocol.Runtime.RemoteObject;
type Preview = Protocol.Runtime.ObjectPreview;

/** The longest part of a token that may be left. */
const FEW = 8;

const cutMiddle = (s: string): string => (s.length <= 100 ? s : `${s.slice(0, 50)}…${s.slice(-49)}`);
const cutEnd = (s: string): string => (s.length <= 100 ? s : `${s.slice(0, 99)}…`);

/** What Chromium calls a value, without what it holds. */
function named(value: unknown): Pick<Remote, 'type' | 'subtype' | 'description'> {
  if (typeof value === 'symbol') return { type: 'symbol', description: value.toString() };
  if (typeof value === 'function') return { type: 'function', description: `function ${value.name}() {}` };
  if (typeof value !== 'object') return { type: typeof value as 'string', description: String(value) };
  if (value === null) return { type: 'object', subtype: 'null', description: 'null' };
  if (value instanceof Error)
    return { type: 'object', subtype: 'error', description: `${value}\n    at f (a.js:1:2)` };
  if (Array.isArray(value))
    return { type: 'object', subtype: 'array', description: `Array(${value.length})` };
  if (value instanceof Map) return { type: 'object', subtype: 'map', description: `Map(${value.size})` };
  if (value instanceof Set) return { type: 'object', subtype: 'set', description: `Set(${value.size})` };
  return { type: 'object', description: value.constructor.name };
}

/** The preview that Chromium makes: texts of fields are cut, keys and the texts of entries are not. */
function preview(value: object): Preview {
  const keys = Reflect.ownKeys(value).filter((key) => !(Array.isArray(value) && key === 'length'));
  const most = Array.isArray(value) ? 100 : 5;
  const properties = keys.slice(0, most).map((key): Protocol.Runtime.PropertyPreview => {
    const inner = (value as Record<PropertyKey, unknown>)[key];
    const { type, subtype, description = '' } = named(inner);
    const cut = type === 'string' ? cutMiddle : cutEnd;
    return { name: String(key), type, ...(subtype && { subtype }), value: cut(description) } as never;
  });
  const collection = value instanceof Map || value instanceof Set;
  const entries = [...(collection ? value.entries() : [])]
    .slice(0, 5)
    .map(([key, inner]) => ({ ...(value instanceof Map && { key: nested(key) }), value: nested(inner) }));
  return {
    ...named(value),
    overflow: keys.length > most,
    properties,
    ...(collection && { entries }),
  } as never;
}

const nested = (value: unknown): Preview =>
  typeof value === 'object' && value !== null
    ? preview(value)
    : ({ ...named(value), overflow: false, properties: [] } as never);

const remote = (value: object): Remote =>
  ({ ...named(value), className: value.constructor.name, objectId: '1', preview: preview(value) }) as never;

/** How each part of the product writes an object, before secrets are masked. */
const written: Record<string, (value: object) => string> = {
  'the console by the debugger': (value) => formatArguments([remote(value)]),
  'the console by the hooks': (value) => format([value]),
};
const told: Record<string, (value: object) => string> = {
  'the console by the debugger': (value) => redactCut(formatArguments([remote(value)])).text,
  'the console by the hooks': (value) => redactCut(format([value])).text,
  variables: (value) => read({ n: 'it' }, remote(value)).field.v ?? '',
};

class Shop {
  [key: string]: unknown;
}

/** Objects in which a text stands somewhere, as a value, a key, a member, a field of an error or a message of one. */
function holding(text: string): fc.Arbitrary<object> {
  const other = fc.constantFrom<unknown>('kettle', 3, null, true, 'two words');
  const plain = fc.constantFrom('id', 'name', 'x-y', 'two words', '0');
  const holders = (inner: fc.Arbitrary<unknown>, key: fc.Arbitrary<string>): fc.Arbitrary<object>[] => [
    fc.tuple(key, inner, other).map(([k, v, o]) => ({ other: o, [k]: v })),
    fc.tuple(key, inner).map(([k, v]) => Object.assign(new Shop(), { [k]: v })),
    fc.tuple(inner, other).map(([v, o]) => [o, v]),
    fc.tuple(key, inner).map(([k, v]) => new Map<unknown, unknown>([[k, v]])),
    fc.tuple(inner, other).map(([v, o]) => new Map([[v, o]])),
    fc.tuple(inner, other).map(([v, o]) => new Set([o, v])),
    fc.tuple(key, inner).map(([k, v]) => [Object.assign(new Error('broken'), { [k]: v })]),
  ];
  const leaf = fc.oneof(
    ...holders(fc.constant(text), plain),
    ...holders(other, fc.constant(text)),
    fc.constant({ cause: new TypeError(text) }),
    fc.constant(new Set([new TypeError(`it has ${text}`)])),
    fc.constant({ mark: Symbol(text) }),
    fc.constant({ [Symbol(text)]: 1 }),
    fc.constant(new (Object.defineProperty(class {}, 'name', { value: text }))()),
  );
  return fc.oneof(
    leaf,
    fc.oneof(...holders(leaf, plain)),
    fc.oneof(...holders(fc.oneof(...holders(leaf, plain)), plain)),
  );
}

const token = fc
  .string({
    unit: fc.constantFrom(...'abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'),
    minLength: 130,
    maxLength: 300,
  })
  .map((units) => `q7${units}Z4`);

function longest(text: string, secret: string): number {
  for (let length = 1; ; length++) {
    let found = false;
    for (let at = 0; !found && at + length <= secret.length; at++)
      found = text.includes(secret.slice(at, at + length));
    if (!found) return length - 1;
  }
}

test.each(Object.entries(told))('a long token is masked wherever in an object it stands: %s', (_, tell) => {
  fc.assert(
    fc.property(
      token.chain((text) => fc.tuple(fc.constant(text), holding(text))),
      ([text, value]) => {
        const shown = tell(value);
        expect(longest(shown, text), shown).toBeLessThanOrEqual(FEW);
        expect(shown).not.toContain(CUT);
      },
    ),
    { numRuns: 400 },
  );
});

/** The keys and values of an object on one line, as somebody reads them who knows what quotes are. */
function fields(text: string): [string, string][] {
  const part = /\s*('(?:[^'\\]|\\.)*'|[^\s:,'{}]+): ('(?:[^'\\]|\\.)*'|[^,'{}]+)(?:,|$)/suy;
  const inner = text.slice(text.indexOf('{') + 1, -1);
  const out: [string, string][] = [];
  while (part.lastIndex < inner.length) {
    const found = part.exec(inner);
    if (found === null) throw new Error(`not read: ${text}`);
    out.push([found[1] as string, found[2] as string]);
  }
  return out;
}
const plainText = (shown: string): string =>
  shown.startsWith("'") ? shown.slice(1, -1).replace(/\\(.)/gsu, '$1') : shown;

/** What a page would write to have its keys and texts pass for others. */
const forged = fc.oneof(
  fc.constantFrom(
    'a: 1, admin',
    'x}, y: {b',
    "a': 1, 'b",
    "\\', b: '",
    '\\',
    "'",
    '"',
    '',
    'a\nb',
    'Symbol(x), b: 1',
  ),
  fc.string({ maxLength: 30 }),
  fc
    .array(fc.constantFrom('a', ': ', ', ', "'", '\\', '{', '}', '"', '1'), { maxLength: 8 })
    .map((a) => a.join('')),
);

test.each(Object.entries(written))('no key and no text passes for more fields: %s', (_, write) => {
  fc.assert(
    fc.property(fc.dictionary(forged, forged, { maxKeys: 5 }), (dictionary) => {
      const object = { ...dictionary };
      const shown = write(object);
      const is = fields(shown).map(([key, value]) => [plainText(key), plainText(value)]);
      expect(is, shown).toEqual(Object.entries(object));
    }),
    { numRuns: 500 },
  );
});

test('in the debugger, no key passes for more fields', () => {
  fc.assert(
    fc.property(fc.uniqueArray(forged, { maxLength: 5 }), (keys) => {
      const value = Object.fromEntries(keys.map((key) => [key, true]));
      const shown = read({ n: 'it' }, remote(value)).field.v ?? '';
      const part = /("(?:[^"\\]|\\.)*"|[^\s:,"{}]+): true(?:, |$)/suy;
      const inner = shown.slice(1, -1);
      const is: string[] = [];
      while (part.lastIndex < inner.length) {
        const key = part.exec(inner)?.[1] ?? expect.fail(shown);
        is.push(key.startsWith('"') ? (JSON.parse(key) as string) : key);
      }
      expect(is, shown).toEqual(Object.keys(value));
    }),
    { numRuns: 500 },
  );
});

test('errors, symbols and names of classes pass for no fields', () => {
  const value = { e: new Error('x}, y: 2'), s: Symbol('x), b: 1'), n: /a{2}/ };
  const text = "{e: 'Error: x}, y: 2', s: 'Symbol(x), b: 1)', n: /a{2}/}";
  expect(format([value])).toBe(text);
  const kind = new (Object.defineProperty(class {}, 'name', { value: 'A {admin: true}, B' }))();
  for (const write of Object.values(written)) expect(write(kind)).toBe("'A {admin: true}, B' {}");
});

test('keys', () => {
  for (const key of [
    'a',
    '$x',
    '_1',
    'größe',
    '12',
    '#p',
    'Symbol(s)',
    'Symbol(Symbol.iterator)',
    '[[PromiseState]]',
  ])
    expect(keyText(key)).toBe(key);
  expect(keyText('content-type')).toBe("'content-type'");
  expect(keyText('a: 1, b')).toBe("'a: 1, b'");
  expect(keyText('')).toBe("''");
  expect(quoted("it's a \\")).toBe("'it\\'s a \\\\'");
  expect(abbreviated('x'.repeat(100))).toBe('x'.repeat(100));
  expect(abbreviated('x'.repeat(101))).toBe(`${'x'.repeat(50)}${CUT}…${'x'.repeat(49)}`);
});
