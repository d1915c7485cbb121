import { expect, test } from 'vitest';
import { type DebugField, KeyIndex } from '../../protocol';
import { isSecretUnder, maskHeld } from './held-secrets';
import { read } from './values';

const parent: DebugField = { n: 'pair', t: 'Object' };

function texts(fields: readonly DebugField[]): (string | undefined)[] {
  return fields.map(({ m, v }) => (m === true ? '[masked]' : v));
}

function list(...all: string[]): DebugField[] {
  return all.map((v, i) => ({ k: KeyIndex, i, t: 'string', v }));
}

test('a value is masked whose name stands beside it', () => {
  const pair: DebugField[] = [
    { n: 'name', t: 'string', v: 'password' },
    { n: 'value', t: 'string', v: 'ZvA8vK8wRm3x' },
    { n: 'age', t: 'number', v: '7' },
  ];
  maskHeld(parent, pair);
  expect(texts(pair)).toEqual(['password', '[masked]', '7']);
});

test('the value of an option is masked, and that of a name in a list of lists', () => {
  const args = list('app', '--api-key', 'ZvB2vK8wRm3x', '--name', 'ann');
  maskHeld({ n: 'args', t: 'Array' }, args);
  expect(texts(args)).toEqual(['app', '--api-key', '[masked]', '--name', 'ann']);
  const entry = list('password', 'hunter');
  maskHeld({ k: KeyIndex, i: 0, t: 'Array' }, entry);
  expect(texts(entry)).toEqual(['password', '[masked]']);
});

test('tokens are masked below their object', () => {
  const tokens: DebugField[] = [{ n: 'access', t: 'string', v: 'ZvA3vK8wRm3xQ7zY' }];
  maskHeld({ n: 'tokens', t: 'Object' }, tokens);
  expect(texts(tokens)).toEqual(['[masked]']);
});

test('a name that may be that of a secret masks what looks like one', () => {
  expect(isSecretUnder('DB_PASS', 'ZvA3vK8wRm3xQ7z')).toBe(true);
  expect(isSecretUnder('DB_PASS', 'none')).toBe(false);
  expect(isSecretUnder('compass', 'ZvA3vK8wRm3xQ7z')).toBe(false);
  expect(read({ n: 'pw' }, { type: 'string', value: 'ZvA3vK8wRm3xQ7z' }).field).toEqual({
    n: 'pw',
    t: 'string',
    m: true,
  });
});

test('values beside other names stay', () => {
  const pair: DebugField[] = [
    { n: 'name', t: 'string', v: 'colour' },
    { n: 'value', t: 'string', v: 'ZvA8vK8wRm3x' },
  ];
  maskHeld(parent, pair);
  const names = list('user', 'password', 'email');
  maskHeld({ n: 'columns', t: 'Array' }, names);
  expect(texts([...pair, ...names])).toEqual(['colour', 'ZvA8vK8wRm3x', 'user', 'password', 'email']);
});
