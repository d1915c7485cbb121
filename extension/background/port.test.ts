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
  expect(last().got.map(({ type }) => type)).toEqual(['hello', 'events', 'request', 'events', 'response']);
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
