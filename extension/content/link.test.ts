// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ToContent } from '../messages';
import { Link } from './link';

/** A port as Chromium hands it out, with its other end in the test's hands. */
class FakePort {
  posted: unknown[] = [];
  closed = false;
  readonly #message: ((message: ToContent) => void)[] = [];
  readonly #disconnect: (() => void)[] = [];
  readonly onMessage = {
    addListener: (listener: (message: ToContent) => void) => this.#message.push(listener),
  };
  readonly onDisconnect = { addListener: (listener: () => void) => this.#disconnect.push(listener) };
  postMessage(message: unknown): void {
    if (this.closed) throw new Error('disconnected');
    this.posted.push(message);
  }
  disconnect(): void {
    this.closed = true;
  }
  /** The other end goes away. */
  cut(): void {
    this.closed = true;
    for (const listener of this.#disconnect) listener();
  }
  say(message: ToContent): void {
    for (const listener of this.#message) listener(message);
  }
}

let ports: FakePort[];
let runtime: { id: string | undefined; connect: () => FakePort };
let ending: AbortController;
let heard: string[];
let link: Link;

beforeEach(() => {
  vi.useFakeTimers();
  ports = [];
  heard = [];
  runtime = {
    id: 'extension',
    connect: () => {
      const port = new FakePort();
      ports.push(port);
      return port;
    },
  };
  vi.stubGlobal('chrome', { runtime });
  ending = new AbortController();
  link = new Link(
    {
      connected: () => heard.push('connected'),
      message: ({ t }) => heard.push(t),
      leaving: () => heard.push('leaving'),
      orphaned: () => heard.push('orphaned'),
    },
    ending.signal,
    () => true,
  );
  link.connect();
});
afterEach(() => {
  ending.abort();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function turnPage(type: 'pagehide' | 'pageshow', persisted: boolean): void {
  window.dispatchEvent(Object.assign(new Event(type), { persisted }));
}

describe('a link', () => {
  it('opens a new port when the worker ends', () => {
    ports[0]?.cut();
    expect(link.post({ t: 'flushed', id: 1 })).toBe(false);
    vi.advanceTimersByTime(100);
    expect(heard).toEqual(['connected', 'connected']);
    expect(link.post({ t: 'flushed', id: 2 })).toBe(true);
  });

  it('tries more rarely while no worker speaks, and quickly again once one has', () => {
    for (const wait of [100, 200, 400]) {
      ports.at(-1)?.cut();
      const before = ports.length;
      vi.advanceTimersByTime(wait - 1);
      expect(ports).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(ports).toHaveLength(before + 1);
    }
    ports.at(-1)?.say({ t: 'watch', on: true, mask: '' });
    ports.at(-1)?.cut();
    vi.advanceTimersByTime(100);
    expect(ports).toHaveLength(5);
  });

  it('goes silent when the extension is gone', () => {
    runtime.id = undefined;
    ports[0]?.cut();
    vi.advanceTimersByTime(60_000);
    expect(heard).toEqual(['connected', 'orphaned']);
    expect(ports).toHaveLength(1);
  });

  it('takes what a document says on its way into the back-forward cache, and opens anew when it returns', () => {
    turnPage('pagehide', true);
    expect(heard).toEqual(['connected', 'leaving']);
    expect(link.post({ t: 'stale' })).toBe(true);
    turnPage('pageshow', true);
    expect(ports[0]?.closed).toBe(true);
    expect(ports).toHaveLength(2);
    expect(heard).toEqual(['connected', 'leaving', 'connected']);
  });

  it('stays open while its document is merely left', () => {
    turnPage('pagehide', false);
    expect(ports[0]?.closed).toBe(false);
    expect(heard).toEqual(['connected', 'leaving']);
  });

  it('ends with its signal', () => {
    ending.abort();
    expect(ports[0]?.closed).toBe(true);
    turnPage('pageshow', true);
    expect(ports).toHaveLength(1);
  });
});

it('a page that only says that it is left is not believed', () => {
  const abort = new AbortController();
  const said: string[] = [];
  const wary = new Link(
    {
      connected: () => said.push('connected'),
      message: () => undefined,
      leaving: () => said.push('leaving'),
      orphaned: () => undefined,
    },
    abort.signal,
  );
  wary.connect();
  window.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
  expect(said).toEqual(['connected']);
  abort.abort();
});
