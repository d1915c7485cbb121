import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Overview } from '../../protocol';
import { type Badge, BadgeKeeper, badgeOf } from './badge';

const overview = {
  host: '1',
  severity: 'error',
  summary: '2 new console error(s)',
  since: 'pre_commit',
  errors: 2,
  warnings: 1,
  checkpoints: [],
} as Overview;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the badge counts errors and warnings since the newest checkpoint, and is empty when there are none', () => {
  expect(badgeOf(overview, false)).toMatchObject({
    text: '3',
    colour: '#b3221f',
    title: expect.stringContaining('since pre_commit'),
  });
  expect(badgeOf({ ...overview, errors: 0, warnings: 0, severity: 'clean' }, false).text).toBe('');
  expect(badgeOf({ ...overview, errors: 12_345 }, false).text).toBe('999+');
  expect(badgeOf(undefined, false).text).toBe('');
  expect(badgeOf(overview, true)).toMatchObject({ text: 'II', title: expect.stringContaining('paused') });
});

test('a burst of events asks the host once, and what is the same is not shown again', async () => {
  const shown: Badge[] = [];
  const request = vi.fn(async () => overview);
  const keeper = new BadgeKeeper({
    connected: () => true,
    paused: () => false,
    request,
    show: (badge) => shown.push(badge),
  });
  for (let i = 0; i < 100; i++) keeper.changed();
  await vi.advanceTimersByTimeAsync(1000);
  keeper.changed();
  await vi.advanceTimersByTimeAsync(1000);
  expect(request.mock.calls).toEqual([
    ['overview', {}],
    ['overview', {}],
  ]);
  expect(shown).toHaveLength(1);
  keeper.tick(Date.now());
  await vi.advanceTimersByTimeAsync(1000);
  expect(request).toHaveBeenCalledTimes(2);
  keeper.tick(Date.now() + 20_000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(request).toHaveBeenCalledTimes(3);
});

test('a host that takes long is asked once at a time, and less often', async () => {
  let answer = (_: Overview): void => undefined;
  const request = vi.fn(() => new Promise<Overview>((resolve) => (answer = resolve)));
  const keeper = new BadgeKeeper({
    connected: () => true,
    paused: () => false,
    request,
    show: () => undefined,
  });
  keeper.changed();
  await vi.advanceTimersByTimeAsync(1000);
  for (let i = 0; i < 5; i++) {
    keeper.changed();
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(request).toHaveBeenCalledTimes(1);
  answer(overview);
  await vi.advanceTimersByTimeAsync(49_000);
  expect(request).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(request).toHaveBeenCalledTimes(2);
});
