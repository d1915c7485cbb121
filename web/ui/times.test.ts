import { expect, it } from 'vitest';
import { shortTime } from './times';

const noon = new Date(2026, 0, 23, 12, 0).getTime();

it('tells the hour of today', () => {
  expect(shortTime(new Date(2026, 0, 23, 9, 5).toISOString(), noon, 'en-GB')).toBe('09:05');
});

it('tells the day of another one', () => {
  expect(shortTime(new Date(2026, 0, 22, 23, 59).toISOString(), noon, 'en-GB')).toBe('22 Jan, 23:59');
});

it('says nothing of what is no time', () => {
  expect(shortTime('session_start', noon, 'en-GB')).toBe('');
});
