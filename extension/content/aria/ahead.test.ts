import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Ahead } from './ahead';

/** How long one round of work takes, in ms, and how much of it is left. */
const ROUND = 10;
let left: number;
let worked: number;
let rounds: number;
let ahead: Ahead;

interface Task {
  run: () => void;
  at: number;
  signal: AbortSignal;
}
let tasks: Task[];

/** Lets time pass; the page has nothing to do throughout. */
function pass(ms: number): void {
  for (let i = 0; i < ms; i++) {
    vi.advanceTimersByTime(1);
    const now = performance.now();
    const due = tasks.filter(({ at }) => at <= now);
    tasks = tasks.filter(({ at }) => at > now);
    for (const { run, signal } of due) if (!signal.aborted) run();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  left = 0;
  worked = rounds = 0;
  tasks = [];
  vi.stubGlobal('scheduler', {
    postTask: (run: () => void, { delay, signal }: { delay: number; signal: AbortSignal }) => {
      tasks.push({ run, at: performance.now() + delay, signal });
      return Promise.resolve();
    },
  });
  ahead = new Ahead((until) => {
    if (left === 0) left = ROUND;
    const now = performance.now();
    const takes = Math.min(left, until - now);
    vi.advanceTimersByTime(takes);
    worked += takes;
    left -= takes;
    if (left === 0) rounds++;
    return left === 0;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('work ahead of a look', () => {
  it('is done for nobody who never looked, and for nobody who left', () => {
    ahead.soon();
    pass(1000);
    expect(worked).toBe(0);
    ahead.looked(performance.now());
    pass(65_000);
    const before = rounds;
    ahead.soon();
    pass(5000);
    expect(rounds).toBe(before);
  });

  it('is done again and again after each look, though nothing gave a sign', () => {
    ahead.looked(performance.now());
    pass(400);
    expect(rounds).toBe(0);
    pass(200);
    expect(rounds).toBe(1);
    pass(600);
    expect(rounds).toBe(2);
    pass(30_000);
    expect(rounds).toBeGreaterThan(15);
    expect(worked / 31_000).toBeLessThan(0.02);
    pass(40_000);
    const before = rounds;
    pass(40_000);
    expect(rounds).toBe(before);
  });

  it('is done between looks that follow one another quickly', () => {
    const asked = performance.now();
    for (let i = 0; i < 60; i++) {
      ahead.looked(asked);
      pass(10);
    }
    expect(worked).toBeGreaterThan(0);
  });

  it('is done at once after a sign', () => {
    ahead.looked(performance.now());
    pass(20);
    ahead.soon();
    ahead.soon();
    pass(30);
    expect(rounds).toBe(1);
  });

  it('is left to a look that begins', () => {
    ahead.looked(performance.now());
    ahead.soon();
    pass(1);
    expect(left).toBeGreaterThan(0);
    ahead.leave();
    const before = worked;
    pass(1000);
    ahead.soon();
    pass(1000);
    expect(worked).toBe(before);
    ahead.looked(performance.now());
    pass(600);
    expect(rounds).toBeGreaterThan(0);
  });

  it('takes a small share of a page that never rests, and ever less', () => {
    ahead.looked(performance.now());
    const shares: number[] = [];
    for (let second = 0; second < 20; second++) {
      const before = worked;
      for (let i = 0; i < 100; i++) {
        ahead.soon();
        pass(10);
      }
      shares.push((worked - before) / 1000);
    }
    expect(shares[0]).toBeLessThan(0.3);
    expect(shares[5]).toBeLessThan(0.05);
    expect(shares[19]).toBeLessThan(0.03);
    expect(rounds).toBeGreaterThan(10);
  });
});
