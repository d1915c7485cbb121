import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CodedError } from '../coded-error';
import type { AnyEvent, Events, Hello, Request, Response, Tabs } from '../protocol';
import { checkMessage } from '../protocol-check';
import { HostPort, type NativePort, type PortOptions } from './port';

type Message = { type: string };

/** The host's end of one connection. */
class Connection implements NativePort {
  readonly got: Message[] = [];
  open = true;
  #message: (message: unknown) => void = () => undefined;
  #disconnect: () => void = () => undefined;
  readonly onMessage = {
    addListener: (listener: (message: unknown) => void): void => {
      this.#message = listener;
    },
  };
  readonly onDisconnect = {
    addListener: (listener: () => void): void => {
      this.#disconnect = listener;
    },
  };

  postMessage(message: Message): void {
    expect(this.open).toBe(true);
    expect(checkMessage(message)).toBeUndefined();
    this.got.push(structuredClone(message));
  }

  disconnect(): void {
    this.open = false;
  }

  say(message: object): void {
    this.#message(message);
  }

  welcome(next = 1): void {
    this.say({ type: 'welcome', protocol: 1, host: '0.1.0', next });
  }

  break(): void {
    this.open = false;
    this.#disconnect();
  }

  of<T extends Message>(type: T['type']): T[] {
    return this.got.filter((message): message is T => message.type === type);
  }

  /** The events that came, by number. */
  events(): [number: number, text: string][] {
    return this.of<Events>('events').flatMap(({ first, events }) =>
      (events as AnyEvent[]).map((event, i): [number, string] => [
        first + i,
        event.kind === 'console' ? event.text : event.kind,
      ]),
    );
  }
}

const log = (text: string): AnyEvent => ({
  kind: 'console',
  at: 1,
  tab: 7,
  level: 'log',
  via: 'console',
  text,
});

function setup(options: Partial<PortOptions> = {}) {
  const connections: Connection[] = [];
  const port = new HostPort({
    connect: () => {
      const connection = new Connection();
      connections.push(connection);
      return connection;
    },
    lastError: () => undefined,
    hello: () => ({ extension: '0.1.0', browser: 'Chromium 156', instance: 'i' }),
    answer: () => Promise.resolve({}),
    changed: () => undefined,
    random: () => 1,
    ...options,
  });
  const last = (): Connection => connections.at(-1) as Connection;
  return { port, connections, last };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('hello first, then after the welcome the tabs, then what has happened', () => {
  const { port, last } = setup();
  port.emit(log('a'));
  port.tabs([{ id: 7, url: '', title: '', watched: true }]);
  port.connect();
  expect(last().got.map(({ type }) => type)).toEqual(['hello']);
  expect(last().of<Hello>('hello')[0]).toMatchObject({ protocol: 1, stream: port.stream, first: 1 });
  last().welcome();
  expect(last().got.map(({ type }) => type)).toEqual(['hello', 'tabs', 'events']);
  expect(last().of<Tabs>('tabs')[0]?.tabs).toHaveLength(1);
  expect(port.state).toMatchObject({ state: 'connected', host: '0.1.0' });
});

test('at once after an idle spell, then fifty milliseconds apart', () => {
  const { port, last } = setup();
  port.connect();
  last().welcome();
  vi.advanceTimersByTime(1000);
  port.emit(log('a'));
  port.emit(log('b'));
  vi.advanceTimersByTime(1);
  expect(
    last()
      .of<Events>('events')
      .map(({ events }) => events.length),
  ).toEqual([2]);
  port.emit(log('c'));
  vi.advanceTimersByTime(30);
  port.emit(log('d'));
  expect(last().of('events')).toHaveLength(1);
  vi.advanceTimersByTime(20);
  expect(
    last()
      .of<Events>('events')
      .map(({ events }) => events.length),
  ).toEqual([2, 2]);
});

test('256 events or 512 KiB do not wait', () => {
  const { port, last } = setup();
  port.connect();
  last().welcome();
  port.emit(log('first'));
  vi.advanceTimersByTime(1);
  for (let n = 0; n < 256; n++) port.emit(log(String(n)));
  expect(
    last()
      .of<Events>('events')
      .map(({ events }) => events.length),
  ).toEqual([1, 256]);
  port.emit(log('x'.repeat(520 << 10)));
  expect(last().of('events')).toHaveLength(3);
});

test('a new connection gets what the host has not taken, and nothing twice', () => {
  const { port, connections, last } = setup();
  port.connect();
  last().welcome();
  for (const text of ['a', 'b', 'c']) port.emit(log(text));
  vi.advanceTimersByTime(1);
  last().say({ type: 'ack', stream: port.stream, next: 2 });
  last().break();
  port.emit(log('d'));
  expect(port.state.state).toBe('waiting');
  vi.advanceTimersByTime(250);
  expect(connections).toHaveLength(2);
  expect(last().of<Hello>('hello')[0]).toMatchObject({ stream: port.stream, first: 2 });
  last().welcome(3);
  expect(last().events()).toEqual([
    [3, 'c'],
    [4, 'd'],
  ]);
});

test('an acknowledgement of another stream is not this one’s', () => {
  const { port, last } = setup();
  port.connect();
  last().welcome();
  port.emit(log('a'));
  vi.advanceTimersByTime(1);
  last().say({ type: 'ack', stream: 'another', next: 2 });
  expect(port.queue.length).toBe(1);
});

test('attempts come further apart, up to ten seconds, and at once when asked for', () => {
  const { port, connections, last } = setup();
  port.connect();
  const waits: number[] = [];
  for (let n = 0; n < 8; n++) {
    last().break();
    const from = Date.now();
    while (connections.length === n + 1) vi.advanceTimersByTime(10);
    waits.push(Date.now() - from);
  }
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  last().break();
  port.connect();
  expect(connections).toHaveLength(10);
  port.connect();
  expect(connections).toHaveLength(10);
});

test('a host that does not answer is tried again', () => {
  const { port, connections, last } = setup();
  port.connect();
  vi.advanceTimersByTime(15_000);
  expect(last().open).toBe(false);
  expect(port.state).toMatchObject({ state: 'waiting', text: expect.stringContaining('did not answer') });
  vi.advanceTimersByTime(250);
  expect(connections).toHaveLength(2);
});

test('a missing installation is said with what to do, and does not flicker while it is tried again', () => {
  const { port, last } = setup({ lastError: () => 'Specified native messaging host not found.' });
  port.connect();
  last().break();
  expect(port.state).toMatchObject({ state: 'refused', text: expect.stringContaining('tidemark install') });
  vi.advanceTimersByTime(10_000);
  expect(port.state.state).toBe('refused');
  last().welcome();
  expect(port.state.state).toBe('connected');
});

test('another version is refused in words', () => {
  const { port, last } = setup();
  port.connect();
  last().say({ type: 'error', error: { code: 'version', message: 'update the older of the two' } });
  last().break();
  expect(port.state).toMatchObject({ state: 'refused', text: 'update the older of the two' });
});

test('a host that the user stopped is waited for, on the same port', async () => {
  const { port, connections, last } = setup();
  port.connect();
  last().welcome();
  const lost = port.request('changes', {}).catch((error: unknown) => String(error));
  last().say({ type: 'error', error: { code: 'stopped', message: 'the user stopped the daemon' } });
  expect(port.state).toMatchObject({
    state: 'waiting',
    text: expect.stringContaining('You stopped Tidemark'),
  });
  expect(await lost).toContain('was lost');
  vi.advanceTimersByTime(60_000);
  expect(connections).toHaveLength(1);
  last().break();
  vi.advanceTimersByTime(250);
  expect(connections).toHaveLength(2);
  last().welcome();
  expect(port.state.state).toBe('connected');
});

test('requests of the host are answered on the port that they came by', async () => {
  const { port, last } = setup({
    answer: async (method) => {
      if (method === 'sync') return { no_dom: [7] };
      throw new CodedError('unknown_type', 'no such method');
    },
  });
  port.connect();
  last().welcome();
  last().say({ type: 'request', id: 5, method: 'sync', params: {} });
  last().say({ type: 'request', id: 6, method: 'dance' });
  await vi.advanceTimersByTimeAsync(0);
  expect(last().of<Response>('response')).toEqual([
    { type: 'response', id: 5, result: { no_dom: [7] } },
    { type: 'response', id: 6, error: { code: 'unknown_type', message: 'no such method' } },
  ]);
});

test('requests to the host get their answer, its error, or that it was lost', async () => {
  const { port, last } = setup();
  await expect(port.request('overview', {})).rejects.toThrow('Connecting');
  port.connect();
  last().welcome();
  const [a, b, c] = [
    port.request('overview', {}),
    port.request('checkpoint', {}),
    port.request('overview', {}),
  ];
  const [first, second] = last().of<Request>('request');
  last().say({ type: 'response', id: second?.id, error: { code: 'invalid', message: 'no such name' } });
  last().say({ type: 'response', id: first?.id, result: { host: 'x' } });
  last().break();
  await expect(a).resolves.toEqual({ host: 'x' });
  await expect(b).rejects.toThrow('no such name');
  await expect(c).rejects.toThrow('lost');
});

test('what happened before a request or an answer is posted before it', async () => {
  const { port, last } = setup({ answer: async () => ({ scripts: [] }) });
  port.connect();
  last().welcome();
  port.emit(log('a'));
  void port.request('debug_place', {});
  port.emit(log('b'));
  last().say({ type: 'request', id: 5, method: 'debug_scripts', params: {} });
  await vi.advanceTimersByTimeAsync(0);
  const types = last().got.map(({ type }) => type);
  expect(types).toEqual(['hello', 'events', 'request', 'events', 'response']);
});

test('drained waits until everything was posted', async () => {
  const { port, last } = setup();
  port.emit(log('a'));
  let drained = false;
  void port.drained().then(() => {
    drained = true;
  });
  port.connect();
  await vi.advanceTimersByTimeAsync(0);
  expect(drained).toBe(false);
  last().welcome();
  await vi.advanceTimersByTimeAsync(0);
  expect(drained).toBe(true);
  expect(last().events()).toEqual([[1, 'a']]);
});
