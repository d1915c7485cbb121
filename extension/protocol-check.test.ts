import { expect, test } from 'vitest';
import { checkMessage, type Problem } from './protocol-check';

const accept = import.meta.glob<string>('../protocol/testdata/accept/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const reject = import.meta.glob<string>('../protocol/testdata/reject/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});

const cases = import.meta.glob<string>('../protocol/testdata/cases.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});

function check(data: string): Problem | undefined {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return { code: 'malformed', message: 'not JSON' };
  }
  return checkMessage(message);
}

const named = (files: Record<string, string>): [name: string, data: string][] =>
  Object.entries(files).map(([path, data]) => [path.split('/').at(-1) ?? '', data]);

test('there are files to read', () => {
  expect(named(accept).length).toBeGreaterThan(15);
  expect(named(reject).length).toBeGreaterThan(15);
});

test.each(named(accept))('takes %s', (_, data) => {
  expect(check(data)).toBeUndefined();
});

test.each(named(reject))('refuses %s', (name, data) => {
  expect(check(data)?.code).toBe(name.split('-')[0]);
});

test('agrees with the cases of the table, as the host does', () => {
  const all: { name: string; code?: string; message: unknown }[] = JSON.parse(Object.values(cases)[0] ?? '');
  expect(all.length).toBeGreaterThan(500);
  const wrong = all.filter(({ code, message }) => checkMessage(message)?.code !== code);
  expect(wrong).toEqual([]);
});
