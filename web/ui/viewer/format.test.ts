import { expect, test } from 'vitest';
import { frameOf } from './entry';
import { baseName, duration } from './format';

test('a duration carries over into the next unit', () => {
  const words = [0.4, 999.4, 999.6, 9940, 9960, 59_400, 59_600, 359_560, 3_599_600, 90_000_000].map(duration);
  expect(words).toEqual([
    ...[
      '0.4 ms',
      '999 ms',
      '1.0 s',
      '9.9 s',
      '10 s',
      '59 s',
      '1 min 0 s',
      '6 min 0 s',
      '1 h 0 min',
      '25 h 0 min',
    ],
  ]);
});

test('a line of a stack is told apart into name and place', () => {
  const url = 'http://localhost:5173/a(1).js';
  expect(frameOf(`pay (${url}:3:7)`)).toEqual({ name: 'pay', place: { url, line: 3, column: 7 } });
  expect(frameOf(`async Cart.pay (${url}:3:7)`).name).toBe('async Cart.pay');
  expect(frameOf(`(${url}:3:7)`)).toEqual({ name: '(anonymous)', place: { url, line: 3, column: 7 } });
  const generated = { url, line: 3, column: 7, generated: true };
  expect(frameOf(`pay (${url}:3:7) (generated)`)).toEqual({ name: 'pay', place: generated });
  expect(frameOf('(anonymous) (:1:9)')).toEqual({ name: '(anonymous) :1:9' });
  expect(frameOf('somewhere else')).toEqual({ name: 'somewhere else' });
});

test('the last part of a path, of each system', () => {
  expect(['/home/me/shop', '/home/me/shop/', 'C:\\Users\\me\\shop', 'shop', '/'].map(baseName)).toEqual([
    ...['shop', 'shop', 'shop', 'shop', '/'],
  ]);
});
