// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { folded } from './stack';

const line = (script: string, n: number): string =>
  `    at f${n} (http://localhost/${script}?v=1a2b3c:${n}:5)`;
const client = Array.from({ length: 100 }, (_, n) => line('client.js', n));
const own = [line('app.js', 3), line('app.js', 5), '    at async http://localhost/main.js:9:1'];

test('a short stack is whole', () => {
  const stack = ['Error', ...client.slice(0, 3), ...own].join('\n');
  expect(folded(stack, 4800)).toBe(stack);
});

test('of a long one the page’s own code remains, below the frames of a library', () => {
  const kept = folded(['Error', ...client, ...own].join('\n'), 1000);
  expect(kept.length).toBeLessThanOrEqual(1000);
  expect(kept.length).toBeGreaterThan(900);
  const lines = kept.split('\n');
  expect(lines.slice(0, 4)).toEqual(['Error', ...client.slice(0, 3)]);
  expect(lines.slice(-3)).toEqual(own);
});

test('of one that enters many scripts the innermost frames remain', () => {
  const many = Array.from({ length: 100 }, (_, n) => line(`${n}.js`, n)).join('\n');
  expect(folded(many, 1000)).toBe(many.slice(0, 1000));
});
