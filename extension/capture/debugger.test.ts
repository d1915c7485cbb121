import { beforeEach, expect, test, vi } from 'vitest';
import type { AnyEvent } from '../protocol';
import { MonotonicClock } from './context';
import { type DebuggerAPI, DebuggerSource } from './debugger';
import { type RequestDetails, WebRequestWitness } from './webrequest';

const T = 1795213240000;
const PAGE = 'http://localhost:5173/';

/** A page that answers the debugger. */
class Page implements DebuggerAPI {
  url = PAGE;
  origin = T - 500;
  fresh = false;
  entries: object[] = [];
  attached = 0;
  refuse: string[] = [];
  properties: (of: { objectId: string }) => object = () => ({ result: [] });
  /** Called when a command comes, before it is answered. */
  on: Record<string, () => void> = {};

  attach = async (): Promise<void> => {
    const refusal = this.refuse.shift();
    if (refusal !== undefined) throw new Error(refusal);
    this.attached++;
  };
  detach = async (): Promise<void> => {
    this.attached--;
  };
  sendCommand = async (_: object, method: string, params?: object): Promise<unknown> => {
    this.on[method]?.();
    if (method === 'Network.getResponseBody') return { body: 'no such order', base64Encoded: false };
    if (method === 'Page.getFrameTree') return { frameTree: { frame: { id: 'top' } } };
    if (method === 'Runtime.getProperties') return this.properties(params as { objectId: string });
    if (method !== 'Runtime.evaluate') return {};
    const { expression } = params as { expression: string };
    const { url, origin, fresh, entries } = this;
    if (expression.includes('entries:')) return { result: { value: { origin, entries } } };
    return { result: { value: { url, origin, fresh, type: 'navigate' } } };
  };
}

/** A browser whose only targets are tabs. */
const targets = {
  getTargets: async () => [],
  attach: async () => undefined,
  detach: async () => undefined,
};

let page: Page;
let events: AnyEvent[];
let witness: WebRequestWitness;
let source: DebuggerSource;
let now: number;

beforeEach(() => {
  now = T;
  page = new Page();
  events = [];
  witness = new WebRequestWitness(() => true, T);
  source = new DebuggerSource(page, {
    emit: (event) => events.push(event),
    witness,
    targets,
    flush: async () => undefined,
    clock: new MonotonicClock(() => now),
  });
});

const allowed = (url: string): boolean => url.startsWith('http://localhost');
const start = (replayFrom = 0) => source.start(7, { replayFrom, allowed });
const say = (text: string, timestamp = now) =>
  source.event({ tabId: 7 }, 'Runtime.consoleAPICalled', {
    type: 'log',
    args: [{ type: 'string', value: text }],
    timestamp,
  });
const shows = (url: string, loaderId = 'L') =>
  source.event({ tabId: 7 }, 'Page.frameNavigated', { frame: { id: 'top', loaderId, url } });
const context = () =>
  source.event({ tabId: 7 }, 'Runtime.executionContextCreated', {
    context: { id: 1, uniqueId: 'c', auxData: { isDefault: true } },
  });
const texts = () => events.map((event) => (event.kind === 'console' ? event.text : event.kind));

function request(url: string, rest: Partial<RequestDetails> = {}): RequestDetails {
  const type = url === PAGE ? 'main_frame' : 'xmlhttprequest';
  return { requestId: url, tabId: 7, url, method: 'GET', type, timeStamp: T - 400, initiator: PAGE, ...rest };
}

test('a document that is still fresh was seen whole', async () => {
  page.fresh = true;
  expect(await start()).toEqual({});
  expect(events).toMatchObject([{ kind: 'navigation', how: 'load', url: PAGE, at: page.origin }]);
});

test('a tab that is stopped while the debugger attaches is left', async () => {
  const starting = start();
  await source.stop(7);
  await expect(starting).rejects.toThrow('while it was attaching');
  expect(page.attached).toBe(0);
  expect(source.runs(7)).toBe(false);
  // One that is started again meanwhile is captured.
  const first = start();
  void source.stop(7);
  const second = start();
  await expect(first).rejects.toThrow('while it was attaching');
  await second;
  expect(page.attached).toBe(1);
  expect(source.runs(7)).toBe(true);
});

test('a document that comes after the debugger was seen whole', async () => {
  page.url = 'about:blank';
  expect(await start()).toEqual({});
  shows(PAGE);
  say('hello');
  expect(texts()).toEqual(['navigation', 'hello']);
});

test('one that was loading while nobody watched was missed, and what can be had of it is', async () => {
  page.on['Runtime.enable'] = () => {
    context();
    say('replayed', T - 300);
  };
  page.entries = [
    { name: PAGE, initiator: 'navigation', start: 0, duration: 20, status: 200, transferred: 9, decoded: 9 },
    {
      name: `${PAGE}api`,
      initiator: 'fetch',
      start: 50,
      duration: 8,
      status: 500,
      transferred: 9,
      decoded: 9,
    },
  ];
  expect(await start()).toEqual({ missed: { from: T - 500, to: T } });
  expect(texts()).toEqual(['navigation', 'replayed', 'network', 'network']);
  expect(events[3]).toMatchObject({ url: `${PAGE}api`, status: 500, started: T - 450, backfilled: true });
});

test('one whose requests webRequest saw from the first was not missed', async () => {
  vi.useFakeTimers({ now: T });
  witness.began(request(PAGE));
  witness.ended(request(PAGE, { statusCode: 200, timeStamp: T - 380 }));
  witness.began(request(`${PAGE}api`));
  witness.ended(request(`${PAGE}api`, { statusCode: 404, timeStamp: T - 370 }));
  expect(await start()).toEqual({});
  await vi.advanceTimersByTimeAsync(1000);
  vi.useRealTimers();
  expect(events).toMatchObject([
    { kind: 'navigation' },
    { kind: 'network', url: PAGE, status: 200, backfilled: true },
    { kind: 'network', url: `${PAGE}api`, status: 404, backfilled: true },
  ]);
});

test('a barrier does not leave a request behind that only webRequest saw', async () => {
  witness.began(request(PAGE));
  witness.ended(request(PAGE, { statusCode: 500 }));
  await start();
  await source.barrier(7);
  expect(events).toMatchObject([{ kind: 'navigation' }, { kind: 'network', status: 500 }]);
});

test('nothing of a page that is not watched is told, before nor after', async () => {
  page.url = 'https://bank.example/account';
  page.on['Runtime.enable'] = () => say('balance: 42', T - 100);
  expect(await start()).toEqual({});
  say('still there');
  source.event({ tabId: 7 }, 'Network.webSocketFrameReceived', {
    requestId: '1',
    timestamp: 1,
    response: { opcode: 1, payloadData: 'x', mask: false },
  });
  shows(PAGE);
  say('watched');
  shows('https://bank.example/account?id=42', 'L2');
  say('balance: 43');
  expect(texts()).toEqual(['navigation', 'watched', 'navigation']);
  expect(events[2]).toMatchObject({ url: 'https://bank.example/' });
});

test('what an earlier life of the worker has reported is not told again', async () => {
  page.on['Runtime.enable'] = () => {
    context();
    say('before', T - 300);
    say('since', T - 50);
  };
  page.entries = [
    {
      name: `${PAGE}old`,
      initiator: 'fetch',
      start: 10,
      duration: 1,
      status: 200,
      transferred: 9,
      decoded: 9,
    },
    {
      name: `${PAGE}new`,
      initiator: 'fetch',
      start: 450,
      duration: 1,
      status: 200,
      transferred: 9,
      decoded: 9,
    },
  ];
  expect(await start(T - 100)).toEqual({});
  expect(texts()).toEqual(['since', 'network']);
  expect(events[1]).toMatchObject({ url: `${PAGE}new` });
});

test('a refusal is passed on', async () => {
  page.refuse = ['Cannot access a chrome:// URL'];
  await expect(start()).rejects.toThrow('chrome://');
  expect(source.runs(7)).toBe(false);
});

test('a page that does not answer is captured all the same', async () => {
  vi.useFakeTimers({ now: T });
  page.sendCommand = async () => new Promise(() => undefined);
  const starting = source.start(7, { replayFrom: 0, allowed, shown: async () => PAGE });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  await expect(starting).resolves.toMatchObject({ missed: { from: T } });
  say('alive after all');
  expect(texts()).toEqual(['alive after all']);
});

test('a detached tab ends its requests and says why', async () => {
  const ended: string[] = [];
  source.onEnd = (tab, reason) => ended.push(`${tab} ${reason}`);
  page.fresh = true;
  await start();
  source.event({ tabId: 7 }, 'Network.requestWillBeSent', {
    requestId: '5.1',
    loaderId: 'L',
    request: { url: `${PAGE}api`, method: 'GET', headers: {} },
    initiator: { type: 'script' },
    timestamp: 1,
    wallTime: T / 1000,
    type: 'Fetch',
  });
  source.detached({ tabId: 7 }, 'canceled_by_user');
  source.detached({ tabId: 7 }, 'canceled_by_user');
  expect(ended).toEqual(['7 canceled_by_user']);
  expect(events.at(-1)).toMatchObject({ kind: 'network', id: '5.1', canceled: true });
  await expect(source.barrier(7)).rejects.toThrow('not captured');
});

test('an error whose body nobody reads is told without it, and says why', async () => {
  vi.useFakeTimers();
  try {
    page.fresh = true;
    await start();
    const told = () => events.filter(({ kind }) => kind === 'network');
    const network = (what: string, rest: object) =>
      source.event({ tabId: 7 }, `Network.${what}`, {
        requestId: 'r',
        loaderId: 'L',
        frameId: 'top',
        type: 'Fetch',
        ...rest,
      });
    const url = 'http://localhost:5173/api';
    network('requestWillBeSent', {
      initiator: { type: 'script' },
      request: { url, method: 'GET', headers: {} },
      timestamp: 1,
      wallTime: T / 1000,
    });
    network('responseReceived', {
      response: { url, status: 500, headers: {}, mimeType: 'text/plain' },
      timestamp: 2,
    });
    expect(told()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(told()).toMatchObject([{ url, status: 500, body_note: 'the page did not read the body' }]);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['after the response', ['responseReceived', 'arrived']],
  ['before the response', ['arrived', 'responseReceived']],
  ['before the request', ['responseReceived']],
])('an answer that has arrived and that nobody reads has ended: known %s', async (_, order) => {
  vi.useFakeTimers();
  try {
    page.fresh = true;
    await start();
    const told = () => events.filter(({ kind }) => kind === 'network');
    const network = (what: string, rest: object) =>
      source.event({ tabId: 7 }, `Network.${what}`, {
        requestId: 'r',
        loaderId: 'L',
        type: 'Fetch',
        ...rest,
      });
    const url = 'http://localhost:5173/api';
    const arrives = (at: number) =>
      witness.completed(request(url, { type: 'xmlhttprequest', timeStamp: at }));
    witness.began(request(url, { type: 'xmlhttprequest' }));
    arrives(T - 1); // one before, of the same address
    if (!order.includes('arrived')) arrives(T + 20);
    network('requestWillBeSent', {
      initiator: { type: 'script' },
      request: { url, method: 'GET', headers: {} },
      timestamp: 1,
      wallTime: T / 1000,
    });
    await vi.advanceTimersByTimeAsync(5000);
    for (const what of order) {
      if (what === 'arrived') arrives(T + 20);
      else
        network(what, { response: { url, status: 200, headers: {}, mimeType: 'text/plain' }, timestamp: 2 });
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(told()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(told()).toMatchObject([{ url, status: 200, body_note: 'the page did not read the body' }]);
    network('loadingFinished', { timestamp: 9, encodedDataLength: 13 });
    await vi.advanceTimersByTimeAsync(1000);
    expect(told()).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['the body comes', 50, { response_body: 'no such order' }],
  ['nobody reads it', 1000, { body_note: 'the page did not read the body' }],
])('a barrier waits a moment for the body of an error: %s', async (_, comes, want) => {
  page.fresh = true;
  await start();
  const network = (what: string, rest: object) =>
    source.event({ tabId: 7 }, `Network.${what}`, { requestId: 'r', loaderId: 'L', type: 'Fetch', ...rest });
  const url = 'http://localhost:5173/api';
  network('requestWillBeSent', {
    initiator: { type: 'script' },
    request: { url, method: 'GET', headers: {} },
    timestamp: 1,
    wallTime: T / 1000,
  });
  network('responseReceived', {
    response: { url, status: 500, headers: {}, mimeType: 'text/plain' },
    timestamp: 2,
  });
  const came = setTimeout(
    () => network('loadingFinished', { timestamp: 2.05, encodedDataLength: 13 }),
    comes,
  );
  const began = Date.now();
  await Promise.all([source.barrier(7), source.barrier(7)]);
  clearTimeout(came);
  expect(Date.now() - began).toBeLessThan(500);
  expect(events.filter(({ kind }) => kind === 'network')).toMatchObject([{ url, status: 500, ...want }]);
});

test('the body of a failed document is waited for longer', async () => {
  vi.useFakeTimers();
  try {
    page.url = 'about:blank';
    await start();
    const network = (what: string, rest: object) =>
      source.event({ tabId: 7 }, `Network.${what}`, {
        requestId: 'L',
        loaderId: 'L',
        frameId: 'top',
        type: 'Document',
        ...rest,
      });
    network('requestWillBeSent', {
      initiator: { type: 'other' },
      request: { url: PAGE, method: 'GET', headers: {} },
      timestamp: 1,
      wallTime: T / 1000,
    });
    network('responseReceived', {
      response: { url: PAGE, status: 500, headers: {}, mimeType: 'application/json' },
      timestamp: 2,
    });
    setTimeout(() => network('loadingFinished', { timestamp: 2.5, encodedDataLength: 13 }), 1000);
    const barrier = source.barrier(7);
    await vi.advanceTimersByTimeAsync(1000);
    await barrier;
    expect(events.filter(({ kind }) => kind === 'network')).toMatchObject([
      { url: PAGE, status: 500, response_body: 'no such order' },
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test('a page that comes back from the back/forward cache says nothing twice', async () => {
  await start();
  say('first', T + 1);
  say('first', T + 1);
  shows(`${PAGE}second`, 'L2');
  say('second', T + 2);
  say('first', T + 1); // replayed before the page is shown again
  shows(PAGE, 'L3');
  say('first', T + 1);
  say('first', T + 3);
  expect(texts().filter((text) => text === 'first' || text === 'second')).toEqual([
    'first',
    'first',
    'second',
    'first',
  ]);
});

const group = (preview?: object) => ({
  type: 'object',
  subtype: 'error',
  className: 'AggregateError',
  description: 'AggregateError: all failed',
  objectId: 'group',
  preview,
});
const throws = (exception: object) =>
  source.event({ tabId: 7 }, 'Runtime.exceptionThrown', {
    timestamp: now,
    exceptionDetails: {
      exceptionId: 1,
      text: 'Uncaught (in promise)',
      lineNumber: 0,
      columnNumber: 0,
      exception,
    },
  });
const counted = {
  type: 'object',
  properties: [{ name: 'errors', type: 'object', subtype: 'array', value: 'Array(6)' }],
};
const error = (name: string) => ({
  name,
  type: 'object',
  subtype: 'error',
  value: `Error: ${name}\n    at a.js:1:1`,
});
const listed = (...names: string[]) => ({
  result: [
    { name: 'stack', value: { type: 'string', value: '' } },
    {
      name: 'errors',
      value: {
        type: 'object',
        preview: { subtype: 'array', properties: names.map((n, i) => ({ ...error(n), name: String(i) })) },
      },
    },
  ],
});

test('the errors of a group are named, with a preview and without', async () => {
  await start();
  events = [];
  page.properties = ({ objectId }) => (objectId === 'group' ? listed('a', 'b') : {});
  throws(group(counted));
  throws(group());
  page.properties = () => listed('a', 'b', 'c', 'd', 'e', 'f');
  throws(group(counted));
  await source.barrier(7);
  expect(texts()).toEqual([
    'AggregateError: all failed (errors: [Error: a, Error: b])',
    'AggregateError: all failed (errors: [Error: a, Error: b])',
    'AggregateError: all failed (errors: [Error: a, Error: b, Error: c, Error: d, Error: e, …])',
  ]);
});

test('a group whose errors cannot be read is reported all the same', async () => {
  await start();
  events = [];
  page.properties = () => {
    throw new Error('Cannot find context with specified id');
  };
  throws(group(counted));
  shows(`${PAGE}next`, 'M');
  await source.barrier(7);
  expect(texts()).toEqual(['navigation', 'AggregateError: all failed']);
  expect(events[1]).toMatchObject({ via: 'rejection', left: true });
});
