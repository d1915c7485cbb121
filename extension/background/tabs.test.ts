import { beforeEach, expect, test, vi } from 'vitest';
import type { CaptureSource, Started, StartOptions } from '../capture/source';
import type { AnyEvent } from '../protocol';
import { Settings, type StorageArea } from './settings';
import { WatchedTabs } from './tabs';

const DEV = 'http://localhost:5173/';
const SITE = 'https://example.com/';

class Area implements StorageArea {
  items: Record<string, unknown> = {};
  get = async (keys: string[]) => Object.fromEntries(keys.map((key) => [key, this.items[key]]));
  set = async (items: Record<string, unknown>) => void Object.assign(this.items, structuredClone(items));
}

class Source implements CaptureSource {
  readonly name = 'fake';
  readonly running = new Map<number, StartOptions>();
  readonly started: number[] = [];
  result: Started | Error = {};
  async start(tab: number, options: StartOptions): Promise<Started> {
    this.started.push(tab);
    if (this.result instanceof Error) throw this.result;
    this.running.set(tab, options);
    return this.result;
  }
  async stop(tab: number): Promise<void> {
    this.running.delete(tab);
  }
  runs = (tab: number) => this.running.has(tab);
  barrier = async () => undefined;
}

let source: Source;
let settings: Settings;
let events: AnyEvent[];
let addresses: Map<number, string>;
let tabs: WatchedTabs;

beforeEach(() => {
  source = new Source();
  settings = new Settings(new Area(), new Area());
  events = [];
  addresses = new Map();
  tabs = new WatchedTabs({
    settings,
    source,
    emit: (event) => events.push(event),
    address: async (tab) => addresses.get(tab),
    changed: () => undefined,
  });
});

async function show(tab: number, url: string): Promise<void> {
  addresses.set(tab, url);
  await tabs.shows(tab, url);
}

const gaps = () =>
  events.map((event) =>
    event.kind === 'gap' ? [event.tab, event.reason, event.to === 0 ? 'open' : 'closed'] : [],
  );

test('a development origin is captured by itself, before it is shown', async () => {
  await tabs.heading(1, DEV);
  expect(source.runs(1)).toBe(true);
  expect(tabs.watched(1)).toBe(true);
  await show(1, DEV);
  expect(source.started).toEqual([1]);
  expect(events).toEqual([]);
});

test('a blank tab that is expected to show a page is captured before, and stays so', async () => {
  await tabs.expect(1, DEV);
  expect(source.started).toEqual([1]);
  await show(1, 'about:blank'); // its own commit, reported late
  expect(source.runs(1)).toBe(true);
  await show(1, DEV);
  expect(source.started).toEqual([1]);
  await show(1, 'about:blank');
  expect(source.runs(1)).toBe(false);
});

test('a blank tab that is expected to show a page that is not watched is not captured', async () => {
  await tabs.expect(1, SITE);
  expect(source.started).toEqual([]);
  await tabs.expect(2, DEV);
  await show(2, SITE);
  expect(source.runs(2)).toBe(false);
});

test('any other origin only after a person switched it on', async () => {
  await show(1, SITE);
  expect(source.started).toEqual([]);
  await settings.chooseOrigin('https://example.com', true);
  await tabs.choose(1, true);
  expect(source.runs(1)).toBe(true);
  expect(source.running.get(1)?.allowed(SITE)).toBe(true);
  expect(source.running.get(1)?.allowed('https://bank.example/')).toBe(false);
});

test('leaving for a page that is not watched ends capture without a gap', async () => {
  await show(1, DEV);
  await show(1, SITE);
  expect(source.runs(1)).toBe(false);
  expect(tabs.watched(1)).toBe(false);
  await show(1, DEV);
  expect(source.running.get(1)?.replayFrom).toBe(0);
  expect(gaps()).toEqual([]);
});

test('what was missed at the start is a gap', async () => {
  source.result = { missed: { from: 100, to: 200 } };
  await show(1, DEV);
  expect(events).toMatchObject([{ kind: 'gap', reason: 'late_attach', from: 100, to: 200, tab: 1 }]);
});

test('a person switches a tab off and on: a gap between, and nothing of the time between', async () => {
  await show(1, DEV);
  await tabs.choose(1, false);
  expect(source.runs(1)).toBe(false);
  expect(tabs.note(1)).toBe('Turned off.');
  await show(1, `${DEV}other`);
  expect(source.runs(1)).toBe(false);
  const before = Date.now();
  await tabs.choose(1, true);
  expect(source.running.get(1)?.replayFrom).toBeGreaterThanOrEqual(before);
  expect(gaps()).toEqual([
    [1, 'detached', 'open'],
    [1, 'detached', 'closed'],
  ]);
  expect(tabs.note(1)).toBeUndefined();
});

test('the debugging bar’s cancel has the tab captured quietly, with a note that stays', async () => {
  await show(1, DEV);
  source.running.delete(1);
  await tabs.ended(1, 'canceled_by_user');
  expect(settings.tabsQuiet.has(1)).toBe(true);
  expect(source.runs(1)).toBe(true);
  expect(tabs.note(1)).toContain('debugging bar');
  await show(1, `${DEV}other`);
  expect(tabs.note(1)).toContain('debugging bar');
  expect(gaps()).toEqual([
    [1, 'detached', 'open'],
    [1, 'detached', 'closed'],
  ]);
});

test('capture that ended by itself begins again', async () => {
  vi.useFakeTimers();
  await show(1, DEV);
  source.running.delete(1);
  const ended = tabs.ended(1, 'closed');
  await vi.advanceTimersByTimeAsync(100);
  await ended;
  vi.useRealTimers();
  expect(source.runs(1)).toBe(true);
  expect(gaps()).toEqual([
    [1, 'detached', 'open'],
    [1, 'detached', 'closed'],
  ]);
});

test('the browser takes the debugger away from its own pages: no gap', async () => {
  vi.useFakeTimers();
  await show(1, DEV);
  addresses.set(1, 'chrome://version/');
  const ended = tabs.ended(1, 'closed');
  await vi.advanceTimersByTimeAsync(100);
  await ended;
  vi.useRealTimers();
  expect(gaps()).toEqual([]);
  expect(tabs.watched(1)).toBe(false);
});

test('a closed tab is no gap', async () => {
  vi.useFakeTimers();
  await show(1, DEV);
  addresses.delete(1);
  const ended = tabs.ended(1, 'closed');
  tabs.closed(1);
  await vi.advanceTimersByTimeAsync(100);
  await ended;
  vi.useRealTimers();
  expect(gaps()).toEqual([]);
  expect(tabs.all()).toEqual([]);
});

test('a refusal is a gap and a note, and is tried again with the next page', async () => {
  source.result = new Error('Another debugger is already attached to the tab.');
  await show(1, DEV);
  expect(tabs.note(1)).toContain('Another debugger');
  expect(tabs.capturing(1)).toBe(false);
  await tabs.heading(1, `${DEV}next`);
  source.result = {};
  await tabs.heading(1, `${DEV}next`);
  expect(source.started).toHaveLength(3);
  expect(tabs.note(1)).toBeUndefined();
  expect(gaps()).toEqual([
    [1, 'capture_failed', 'open'],
    [1, 'capture_failed', 'closed'],
  ]);
});

test('one of the browser’s own pages that is on its way to a watched one is no failure', async () => {
  source.result = new Error('Cannot access a chrome:// URL');
  await tabs.heading(1, DEV);
  expect(events).toEqual([]);
  expect(tabs.note(1)).toBeUndefined();
  source.result = {};
  await show(1, DEV);
  expect(source.runs(1)).toBe(true);
});

test('a new life of the worker: what it could not see is a gap, what was reported is not told again', async () => {
  await show(1, DEV);
  await tabs.choose(1, false);
  await show(2, DEV);
  const memory = tabs.memory(5000);
  events.length = 0;
  const next = new WatchedTabs({
    settings,
    source,
    emit: (event) => events.push(event),
    address: async (tab) => addresses.get(tab),
    changed: () => undefined,
  });
  next.resume(memory);
  source.running.clear();
  await next.shows(2, DEV);
  expect(source.running.get(2)?.replayFrom).toBe(5000);
  await next.choose(1, true);
  expect(gaps()).toEqual([
    [2, 'worker_restart', 'open'],
    [2, 'worker_restart', 'closed'],
    [1, 'detached', 'closed'],
  ]);
  expect(events[1]).toMatchObject({ from: 5000 });
});

test('a tab that is switched off while capture begins is let go', async () => {
  let begin: (started: Started) => void = () => undefined;
  source.start = (tab, options) => {
    source.running.set(tab, options);
    return new Promise((resolve) => {
      begin = resolve;
    });
  };
  const starting = show(1, DEV);
  await Promise.resolve();
  await tabs.choose(1, false);
  begin({});
  await starting;
  expect(source.runs(1)).toBe(false);
  expect(tabs.capturing(1)).toBe(false);
});

test('a start that was overtaken by another one brings nothing', async () => {
  const starts: ((result: Started) => void)[] = [];
  source.start = async () => await new Promise<Started>((resolve) => starts.push(resolve));
  const first = show(1, DEV);
  await vi.waitFor(() => {
    expect(starts).toHaveLength(1);
  });
  const second = tabs.restart(1);
  await vi.waitFor(() => {
    expect(starts).toHaveLength(2);
  });
  starts[0]?.({ missed: { from: 1, to: 2 } });
  await first;
  expect(gaps()).toEqual([[1, 'detached', 'open']]);
  starts[1]?.({});
  await second;
  expect(gaps()).toEqual([
    [1, 'detached', 'open'],
    [1, 'detached', 'closed'],
  ]);
});
