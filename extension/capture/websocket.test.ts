import type { Protocol } from 'devtools-protocol';
import { expect, test } from 'vitest';
import type { AnyEvent } from '../protocol';
import { checkEvent } from '../protocol-check';
import { MonotonicClock } from './context';
import { WebSocketTracker } from './websocket';

const URL = 'ws://localhost:3000/live';
const initiator: Protocol.Network.Initiator = {
  type: 'script',
  stack: {
    callFrames: [
      {
        functionName: 'connect',
        scriptId: '1',
        url: 'http://localhost:3000/live.js',
        lineNumber: 4,
        columnNumber: 2,
      },
    ],
  },
};
const stack = ['connect (http://localhost:3000/live.js:5:3)'];

function tracker(adopted?: string): { sockets: WebSocketTracker; events: AnyEvent[] } {
  const events: AnyEvent[] = [];
  const clock = new MonotonicClock(() => 1795213240751);
  const send = async (): Promise<never> => Promise.reject(new Error('nothing is sent'));
  const sockets = new WebSocketTracker(
    { tab: 7, emit: (event) => events.push(event), send, clock },
    () => adopted,
  );
  sockets.created({}, { requestId: '1', url: URL, initiator });
  return { sockets, events };
}

test.each([
  ['Error during WebSocket handshake: Unexpected response code: 403', 403],
  ['', undefined],
])('a refused connection: %s', (errorMessage, status) => {
  const { sockets, events } = tracker();
  sockets.error({}, { requestId: '1', timestamp: 1, errorMessage });
  sockets.closed({}, { requestId: '1', timestamp: 1 });
  const text = errorMessage || 'the connection could not be established';
  expect(events).toEqual([expect.objectContaining({ op: 'error', stack, text })]);
  expect(events[0]).toHaveProperty('url', URL);
  expect((events[0] as { status?: number }).status).toBe(status);
  expect(events.map(checkEvent).filter(Boolean)).toEqual([]);
});

test('the status of an answer to the handshake that was no agreement', () => {
  const { sockets, events } = tracker();
  const response = { status: 401, statusText: 'Unauthorized', headers: {} };
  sockets.handshake({}, { requestId: '1', timestamp: 1, response });
  sockets.error({}, { requestId: '1', timestamp: 1, errorMessage: '' });
  expect(events).toMatchObject([
    {
      op: 'error',
      status: 401,
      text: 'the connection could not be established: the handshake was answered with status 401',
    },
  ]);
});

test.each([
  ['net::ERR_HTTP_RESPONSE_CODE_FAILURE: 403', 403, 'the handshake was answered with status 403'],
  ['net::ERR_CONNECTION_REFUSED', undefined, 'net::ERR_CONNECTION_REFUSED'],
])('why the load of a handshake failed: %s', (errorText, status, why) => {
  const { sockets, events } = tracker();
  const failed: Protocol.Network.LoadingFailedEvent = {
    requestId: '1',
    timestamp: 1,
    type: 'WebSocket',
    errorText,
  };
  sockets.failed(failed);
  sockets.failed({ ...failed, requestId: 'of no connection' });
  sockets.error({}, { requestId: '1', timestamp: 1, errorMessage: '' });
  sockets.closed({}, { requestId: '1', timestamp: 1 });
  expect(events).toMatchObject([{ op: 'error', text: `the connection could not be established: ${why}` }]);
  expect((events[0] as { status?: number }).status).toBe(status);
});

test('the code that opened it stands at its open and its close, not at its frames', () => {
  const { sockets, events } = tracker();
  const response = { status: 101, statusText: 'Switching Protocols', headers: {} };
  sockets.handshake({}, { requestId: '1', timestamp: 1, response });
  sockets.frame({}, 'sent', {
    requestId: '1',
    timestamp: 1,
    response: { opcode: 1, mask: true, payloadData: 'hi' },
  });
  sockets.closed({}, { requestId: '1', timestamp: 1 });
  expect(events.map((event) => (event.kind === 'websocket' ? [event.op, event.stack] : []))).toEqual([
    ['open', stack],
    ['sent', undefined],
    ['close', stack],
  ]);
});

test('a connection of a worker, begun before it was attached to', () => {
  const { sockets, events } = tracker();
  const refused = 'Error in connection establishment: net::ERR_CONNECTION_REFUSED';
  sockets.error({}, { requestId: '2', timestamp: 1, errorMessage: refused }); // the log entry has its address
  sockets.closed({}, { requestId: '2', timestamp: 1 });
  expect(events).toEqual([]);
  sockets.error({}, { requestId: '3', timestamp: 1, errorMessage: 'WebSocket is closed due to suspension.' });
  expect(events).toMatchObject([{ op: 'error', url: 'ws://unknown/' }]);
});
