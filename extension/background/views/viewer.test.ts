import { expect, test, vi } from 'vitest';
import type { ConnectionState, FromViewer, ToViewer } from '../../messages';
import { type ViewerPort, ViewerServer } from './viewer';

class Port implements ViewerPort {
  readonly got: ToViewer[] = [];
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
  postMessage(message: ToViewer): void {
    this.got.push(structuredClone(message));
  }
  ask(message: FromViewer): void {
    this.#message(message);
  }
}

let connection: ConnectionState = { state: 'connected', text: 'Connected.', queued: 0, dropped: 0 };

function serve() {
  const request = vi.fn(async (method: string) => {
    if (method === 'view_report') throw new Error('there is no checkpoint "x"');
    return { host: '1' };
  });
  const server = new ViewerServer({
    connection: () => connection,
    connect: vi.fn(),
    request,
    reveal: async (_tab, selector) => selector === '#there',
  });
  const port = new Port();
  server.connect(port);
  return { server, port, request };
}

test('what it asks is passed to the host, and what the host says comes back, mistakes too', async () => {
  const { port } = serve();
  port.ask({ t: 'ask', id: 1, method: 'view_overview', params: { tab: 3 } });
  port.ask({ t: 'ask', id: 2, method: 'view_report', params: {} });
  await vi.waitFor(() => expect(port.got).toHaveLength(3));
  expect(port.got[1]).toEqual({ t: 'done', id: 1, result: { host: '1' } });
  expect(port.got[2]).toEqual({ t: 'done', id: 2, error: 'there is no checkpoint "x"' });
});

test('nothing but the methods of the viewer passes', async () => {
  const { port, request } = serve();
  port.ask({ t: 'ask', id: 1, method: 'overview', params: {} });
  await vi.waitFor(() => expect(port.got).toHaveLength(2));
  expect(port.got[1]).toMatchObject({ id: 1, error: expect.stringContaining('cannot request') });
  expect(request).not.toHaveBeenCalled();
});

test('a change of the connection is told once, and not what waits in the queue', () => {
  const { server, port } = serve();
  connection = { ...connection, state: 'waiting', text: 'Away.' };
  server.changed();
  connection = { ...connection, queued: 7 };
  server.changed();
  expect(port.got.filter(({ t }) => t === 'connection')).toHaveLength(2);
  port.close();
  connection = { ...connection, state: 'connected', text: 'Back.' };
  server.changed();
  expect(port.got.filter(({ t }) => t === 'connection')).toHaveLength(2);
});

test('an element that is gone is said to be gone', async () => {
  const { port } = serve();
  port.ask({ t: 'reveal', id: 1, tab: 7, selector: '#there' });
  port.ask({ t: 'reveal', id: 2, tab: 7, selector: '#gone' });
  await vi.waitFor(() => expect(port.got).toHaveLength(3));
  expect(port.got[1]).toEqual({ t: 'done', id: 1, result: {} });
  expect(port.got[2]).toMatchObject({ id: 2, error: expect.stringContaining('no longer') });
});
