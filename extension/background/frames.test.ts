import { beforeEach, expect, test, vi } from 'vitest';
import { hashOf } from '../held';
import type { ToContent } from '../messages';
import type { AnyEvent } from '../protocol';
import { checkEvent } from '../protocol-check';
import { Activity } from './acting/activity';
import { answer } from './commands';
import { ContentFrames, type ContentPort } from './frames';

class Port implements ContentPort {
  readonly got: ToContent[] = [];
  readonly sender: ContentPort['sender'];
  message: (message: unknown) => void = () => undefined;
  disconnect: () => void = () => undefined;
  readonly onMessage = {
    addListener: (listener: (message: unknown) => void): void => {
      this.message = listener;
    },
  };
  readonly onDisconnect = {
    addListener: (listener: () => void): void => {
      this.disconnect = listener;
    },
  };
  constructor(tab: number, frameId: number, documentId: string) {
    this.sender = { tab: { id: tab }, frameId, documentId };
  }
  postMessage(message: ToContent): void {
    this.got.push(message);
  }
  /** Answers the last flush. */
  flushed(): void {
    const flush = this.got.findLast((message) => message.t === 'flush');
    this.message({ t: 'flushed', id: flush?.t === 'flush' ? flush.id : 0 });
  }
}

let watched: Set<number>;
let events: AnyEvent[];
let stale: number[];
let quiet: boolean;
let records: string[];
let frames: ContentFrames;

beforeEach(() => {
  watched = new Set([7]);
  events = [];
  stale = [];
  quiet = false;
  records = [];
  frames = new ContentFrames({
    emit: (event) => events.push(event),
    watched: (tab) => watched.has(tab),
    hooks: () => quiet,
    hooked: () => undefined,
    page: (_tab, _frame, document, lists) => records.push(...lists.map((list) => `${list}, of ${document}`)),
    stale: (tab) => stale.push(tab),
    gone: () => undefined,
    changed: () => undefined,
  });
});

function connect(tab: number, frame: number, document = `D${frame}`): Port {
  const port = new Port(tab, frame, document);
  frames.connect(port);
  return port;
}

const click = { kind: 'action', at: 1, action: 'click', target: 'button "Pay"' } as const;

test('records are taken from the hooks that the way of capture needs, and from watched tabs', () => {
  for (const tab of [7, 8]) {
    const port = connect(tab, 0);
    for (quiet of [true, false]) {
      port.message({ t: 'page', lists: [`${tab} hooks, quiet ${quiet}`] });
      port.message({ t: 'page', lists: [`${tab} witness, quiet ${quiet}`], witness: true });
    }
  }
  expect(records).toEqual(['7 hooks, quiet true, of D0', '7 witness, quiet false, of D0']);
});

test('the records of a document that was left are taken after the next one has spoken, its events are not', () => {
  const port = connect(7, 0, 'first');
  connect(7, 0, 'second');
  events.length = 0;
  quiet = true;
  port.message({ t: 'page', lists: ['last words'] });
  port.message({ t: 'events', events: [click] });
  expect(records).toEqual(['last words, of first']);
  expect(events).toEqual([]);
});

test('a new document resets its frame and is told whether it is watched', () => {
  const port = connect(7, 0);
  expect(port.got).toEqual([{ t: 'watch', on: true, mask: '[masked]' }]);
  expect(events).toMatchObject([{ kind: 'element', op: 'reset', tab: 7, frame: 0, document: 'D0' }]);
  expect(frames.has(7)).toBe(true);
  port.disconnect();
  expect(events[1]).toMatchObject({ op: 'reset', document: '' });
  expect(frames.has(7)).toBe(false);
});

test('the worker fills in tab, frame and document, and looks for secrets once more', () => {
  const port = connect(7, 3);
  port.message({
    t: 'events',
    events: [
      click,
      { ...click, action: 'type', value: 'Bearer 4f9c2b7a1d8e6035', masked: 1 },
      { kind: 'element', at: 2, op: 'appeared', document: 'its own', id: 4, text: 'password: hunter2' },
    ],
  });
  expect(events.slice(1)).toEqual([
    { ...click, tab: 7, frame: 3 },
    { ...click, action: 'type', tab: 7, frame: 3, value: 'Bearer [masked]', masked: 2 },
    {
      kind: 'element',
      at: 2,
      op: 'appeared',
      document: 'D3',
      id: 4,
      text: 'password: [masked]',
      masked: 1,
      tab: 7,
      frame: 3,
    },
  ]);
  expect(events.map(checkEvent).filter(Boolean)).toEqual([]);
});

test('nothing of a tab that is not watched is passed on', () => {
  const port = connect(8, 0);
  expect(port.got).toEqual([{ t: 'watch', on: false, mask: '[masked]' }]);
  port.message({ t: 'events', events: [click] });
  port.disconnect();
  expect(events).toEqual([]);
});

test('the switch is told to the frames when it changes, and only then', () => {
  const port = connect(8, 0);
  watched.add(8);
  frames.watch(8);
  frames.watch(8);
  expect(port.got.slice(1)).toEqual([{ t: 'watch', on: true, mask: '[masked]' }]);
  expect(events).toMatchObject([{ op: 'reset', tab: 8 }]);
});

test('the port of an older document is not listened to any more', () => {
  const old = connect(7, 0, 'old');
  connect(7, 0, 'new');
  events.length = 0;
  old.message({ t: 'events', events: [click] });
  old.disconnect();
  expect(events).toEqual([]);
  expect(frames.has(7)).toBe(true);
});

test('a flush waits for all frames, and is answered when the top one is', async () => {
  const [top, inner] = [connect(7, 0), connect(7, 5)];
  const flushed = frames.flush(7, 1000);
  top.flushed();
  inner.flushed();
  await expect(flushed).resolves.toBe(true);
  await expect(frames.flush(9, 1000)).resolves.toBe(false);
});

test('a frame that hangs does not make the tab fail, the top one does', async () => {
  vi.useFakeTimers();
  const [top, inner] = [connect(7, 0), connect(7, 5)];
  const first = frames.flush(7, 100);
  top.flushed();
  await vi.advanceTimersByTimeAsync(100);
  await expect(first).resolves.toBe(true);
  const second = frames.flush(7, 100);
  inner.flushed();
  await vi.advanceTimersByTimeAsync(100);
  await expect(second).resolves.toBe(false);
  vi.useRealTimers();
});

const debugging = {
  answer: async () => undefined,
  paused: () => undefined,
  framePaused: () => false,
  whenPaused: () => ({ promise: new Promise<void>(() => undefined), forget: () => undefined }),
};
const acting = { act: async () => ({ done: 0 }) };
const maps = {
  page: async () => undefined,
  documents: async () => [],
  responses: () => [],
  debugged: () => [],
  fetch: () => Promise.reject(new Error('nothing is fetched')),
};

test('sync names who did not answer, and posts everything before it answers', async () => {
  const order: string[] = [];
  const parties = {
    tabs: { all: () => [7, 8] },
    frames: { hide: (_: number, text: string) => text, flush: async (tab: number) => tab === 7 },
    source: {
      barrier: (tab: number) => (tab === 8 ? Promise.resolve() : new Promise<void>(() => undefined)),
    },
    port: { drained: async () => void order.push('drained') },
    maps,
    debugging,
    acting,
    activity: new Activity(),
    agents: () => undefined,
  };
  await expect(answer(parties, 'sync', { timeout_ms: 10 })).resolves.toEqual({
    no_dom: [8],
    no_capture: [7],
  });
  await expect(answer(parties, 'sync', { tabs: [8], timeout_ms: 10 })).resolves.toEqual({ no_dom: [8] });
  expect(order).toEqual(['drained', 'drained']);
});

test('what is known of the scripts of a tab is posted before they are listed', async () => {
  const order: string[] = [];
  const parties = {
    tabs: { all: () => [7, 8] },
    frames: { hide: (_: number, text: string) => text, flush: async () => true },
    source: { barrier: async (tab: number) => void order.push(`barrier ${tab}`) },
    port: { drained: async () => void order.push('drained') },
    maps,
    debugging: {
      ...debugging,
      answer: async (method: string) => {
        order.push(method);
        return { scripts: [] };
      },
    },
    acting,
    activity: new Activity(),
    agents: () => undefined,
  };
  await expect(answer(parties, 'debug_scripts', { tab: 7, by: 'a', release_ms: 1 })).resolves.toEqual({
    scripts: [],
  });
  expect(order).toEqual(['debug_scripts', 'barrier 7', 'drained']);
});

test('what the host may not ask is refused with a code', async () => {
  const parties = {
    tabs: { all: () => [] },
    frames: { hide: (_: number, text: string) => text, flush: async () => true },
    source: { barrier: async () => undefined },
    port: { drained: async () => undefined },
    maps,
    debugging,
    acting,
    activity: new Activity(),
    agents: () => undefined,
  };
  await expect(answer(parties, 'dance', {})).rejects.toMatchObject({ code: 'unknown_type' });
  await expect(answer(parties, 'sync', {})).rejects.toMatchObject({ code: 'invalid' });
  await expect(answer(parties, 'sync', { timeout_ms: 5, tabs: 'all' })).rejects.toMatchObject({
    code: 'invalid',
  });
});

test('who acts hears of documents that are new, or no longer as somebody saw them', () => {
  const port = connect(7, 2);
  expect(stale).toEqual([7]); // a new one
  port.message({ t: 'stale' });
  expect(stale).toEqual([7, 7]);
});

test('what sensitive fields of any frame hold is taken out of texts of their tab', () => {
  const salt = [1, 2] as const;
  const [top, within] = [new Port(7, 0, 'a'), new Port(7, 3, 'b')];
  for (const [port, text] of [
    [top, 'c0rrect-horse'],
    [within, 'battery-staple'],
  ] as const) {
    frames.connect(port);
    port.message({ t: 'held', held: { salt, hashes: [[hashOf(text, salt), text.length]] } });
  }
  const text = 'c0rrect-horsebattery-staples';
  expect(frames.hide(7, text)).toBe('[masked][masked]s');
  expect(frames.hide(7, 'c0rr\u00adect-\x1b[31mhorse')).toBe('[masked]');
  expect(frames.hide(7, 'password: hunter2-planted')).toBe('password: [masked]');
  expect(frames.title(7, `Welcome, ${text}`)).toBe('Welcome, [masked][masked]s');
  expect(frames.hide(8, text)).toBe(text);
  top.disconnect();
  expect(frames.hide(7, text)).toBe('c0rrect-horse[masked]s');
});

test('a page is told of a dynamic import that failed in its top frame and was not handled', () => {
  const [top, inner] = [new Port(7, 0, 'top'), new Port(7, 4, 'inner')];
  frames.connect(top);
  frames.connect(inner);
  const failed = 'TypeError: Failed to fetch dynamically imported module: http://localhost:3000/cart.js';
  const say = (more: object): void =>
    frames.saw({ kind: 'console', at: 5, tab: 7, level: 'error', via: 'exception', text: failed, ...more });
  say({ text: `${failed}\n    at http://localhost:3000/:1:1` });
  say({ via: 'rejection' });
  say({ via: 'console' }); // the page handled it, and logs it
  say({ target: 'iframe' });
  say({ left: true });
  say({ text: 'TypeError: x is not a function' });
  say({ tab: 8 });
  const unimported = { t: 'unimported', url: 'http://localhost:3000/cart.js', at: 5 };
  expect(top.got.filter(({ t }) => t === 'unimported')).toEqual([unimported, unimported]);
  expect(inner.got.filter(({ t }) => t === 'unimported')).toEqual([]);
});
