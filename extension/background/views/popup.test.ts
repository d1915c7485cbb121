import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ConnectionState, FromPopup, PopupTab, ToPopup } from '../../messages';
import { type PopupOptions, type PopupPort, PopupServer } from './popup';

class Port implements PopupPort {
  readonly got: ToPopup[] = [];
  #message: (message: unknown) => void = () => undefined;
  close: () => void = () => undefined;
  readonly onMessage = {
    addListener: (listener: (message: unknown) => void): void => {
      this.#message = listener;
    },
  };
  readonly onDisconnect = {
    addListener: (listener: () => void): void => {
      this.close = listener;
    },
  };
  postMessage(message: ToPopup): void {
    this.got.push(structuredClone(message));
  }
  ask(message: FromPopup): void {
    this.#message(message);
  }
  get state() {
    return this.got.findLast((message) => message.t === 'state')?.state;
  }
  done(id: number): ToPopup | undefined {
    return this.got.find((message) => message.t === 'done' && message.id === id);
  }
}

const tab = {
  id: 7,
  title: 'Shop',
  url: 'http://localhost/',
  origin: 'http://localhost',
  active: true,
} as PopupTab;
let connection: ConnectionState;
let paused = false;
let asked: [method: string, params: unknown][];
let options: PopupOptions;

beforeEach(() => {
  vi.useFakeTimers();
  connection = { state: 'connected', text: 'Connected.', queued: 0, dropped: 0 };
  asked = [];
  options = {
    connection: () => connection,
    connect: vi.fn(),
    tabs: async () => [tab],
    request: async (method, params) => {
      asked.push([method, params]);
      if (method === 'overview') return { host: '0.1.0', severity: 'clean', summary: '', checkpoints: [] };
      return { name: 'pre_commit', at: '2026-01-01T00:00:00.000Z' };
    },
    setWatched: vi.fn(async () => undefined),
    setWay: vi.fn(async () => undefined),
    paused: () => paused,
    pause: async (on) => {
      paused = on;
    },
    resume: vi.fn(async () => undefined),
  };
});
afterEach(() => {
  vi.useRealTimers();
});

test('a popup that opens connects at once and gets the state, then the host’s view of all of them', async () => {
  const port = new Port();
  new PopupServer(options).connect(port);
  expect(options.connect).toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toEqual([['overview', { tabs: true }]]);
  expect(port.state).toMatchObject({ connection, tabs: [tab], overview: { severity: 'clean' } });
});

test('when the host is there again it is asked at once, and once', async () => {
  const server = new PopupServer(options);
  const port = new Port();
  server.connect(port);
  await vi.advanceTimersByTimeAsync(100);
  connection = { state: 'waiting', text: 'Not reachable.', queued: 0, dropped: 0 };
  server.changed();
  await vi.advanceTimersByTimeAsync(100);
  expect(port.state?.overview).toBeUndefined();
  asked = [];
  connection = { state: 'connected', text: 'Connected.', queued: 0, dropped: 0 };
  server.changed();
  await vi.advanceTimersByTimeAsync(200);
  expect(port.state?.overview).toMatchObject({ severity: 'clean' });
  expect(asked).toEqual([['overview', { tabs: true }]]);
});

test('changes are gathered and pushed while it is open, and the host is asked again now and then', async () => {
  const server = new PopupServer(options);
  const port = new Port();
  server.connect(port);
  await vi.advanceTimersByTimeAsync(100);
  const before = port.got.length;
  server.changed();
  server.changed();
  await vi.advanceTimersByTimeAsync(50);
  expect(port.got).toHaveLength(before + 1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked).toHaveLength(2);
  port.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toHaveLength(2);
});

test('without the host there is no overview, an old one neither', async () => {
  const server = new PopupServer(options);
  const port = new Port();
  server.connect(port);
  await vi.advanceTimersByTimeAsync(100);
  connection = { ...connection, state: 'waiting', text: 'Away.' };
  server.changed();
  await vi.advanceTimersByTimeAsync(50);
  expect(port.state).toEqual({ connection, tabs: [tab] });
});

test('what it asks for is done and answered, or the reason said', async () => {
  const port = new Port();
  new PopupServer(options).connect(port);
  port.ask({ t: 'ask', id: 1, method: 'checkpoint', params: { name: 'pre_commit' } });
  port.ask({ t: 'set_watched', id: 2, tab: 7, on: true, scope: 'origin' });
  port.ask({ t: 'refresh', id: 3 });
  port.ask({ t: 'set_way', id: 5, tab: 7, way: 'quiet' });
  await vi.advanceTimersByTimeAsync(100);
  expect(port.done(1)).toMatchObject({ result: { name: 'pre_commit' } });
  expect(port.done(2)).toEqual({ t: 'done', id: 2 });
  expect(options.setWatched).toHaveBeenCalledWith(7, true, 'origin');
  expect(port.done(3)).toEqual({ t: 'done', id: 3 });
  expect(options.setWay).toHaveBeenCalledWith(7, 'quiet');
  options.request = () => Promise.reject(new Error('names begin with a letter'));
  port.ask({ t: 'ask', id: 4, method: 'checkpoint', params: { name: '1' } });
  await vi.advanceTimersByTimeAsync(100);
  expect(port.done(4)).toEqual({ t: 'done', id: 4, error: 'names begin with a letter' });
});

test('what is ignored is asked of the host, answered with its rule, and taken back by it', async () => {
  options.request = async (method, params) => {
    asked.push([method, params]);
    return method === 'ignore' ? { id: 'n1', hides: 2 } : {};
  };
  const port = new Port();
  new PopupServer(options).connect(port);
  const params = { kind: 'console', level: 'warning', fingerprint: 'slow {n}' };
  port.ask({ t: 'ask', id: 1, method: 'ignore', params });
  port.ask({ t: 'ask', id: 2, method: 'unignore', params: { id: 'n1' } });
  port.ask({ t: 'ask', id: 3, method: 'view_hold', params: {} });
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toContainEqual(['ignore', params]);
  expect(asked).toContainEqual(['unignore', { id: 'n1' }]);
  expect(port.done(1)).toMatchObject({ result: { id: 'n1', hides: 2 } });
  expect(port.done(2)).toEqual({ t: 'done', id: 2, result: {} });
  expect(port.done(3)).toMatchObject({ error: expect.stringContaining('view_hold') });
  expect(asked.map(([method]) => method)).not.toContain('view_hold');
});

test('a person pauses watching, and sees that it is paused', async () => {
  const port = new Port();
  new PopupServer(options).connect(port);
  port.ask({ t: 'pause', id: 1, paused: true });
  await vi.advanceTimersByTimeAsync(100);
  expect(port.done(1)).toEqual({ t: 'done', id: 1 });
  expect(port.state?.paused).toBe(true);
  paused = false;
});
