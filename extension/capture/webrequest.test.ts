import { expect, test } from 'vitest';
import { checkEvent } from '../protocol-check';
import { type RequestDetails, sightedEvent, WebRequestWitness } from './webrequest';

const PAGE = 'http://localhost:5173/';
const API = 'http://localhost:5173/api';
const T = 1795213240000;
let ids = 0;

function details(url: string, rest: Partial<RequestDetails> = {}): RequestDetails {
  const top = url === PAGE;
  return {
    requestId: String(++ids),
    tabId: 7,
    url,
    method: 'GET',
    type: top ? 'main_frame' : 'xmlhttprequest',
    timeStamp: T,
    ...(!top && { initiator: 'http://localhost:5173' }),
    ...rest,
  };
}

const start = (url: string, started = T) => ({ method: 'GET', url, resource: 'fetch', started, order: 0 });
const watched = () => new WebRequestWitness((_, url) => url.startsWith('http://localhost'), T - 60_000);

test.each(['debugger first', 'webRequest first'])(
  'a request that both saw is the debugger’s: %s',
  (order) => {
    const witness = watched();
    const request = details(API);
    if (order === 'webRequest first') witness.began(request);
    witness.attached(7, T + 10);
    witness.forTab(7).claim(start(API, T - 3));
    if (order === 'debugger first') witness.began(request);
    witness.ended({ ...request, timeStamp: T + 5, statusCode: 200 });
    expect(witness.takeEnded(7)).toEqual([]);
  },
);

test('a request that only webRequest saw is reported once, with the debugger’s id when the log names it', () => {
  const witness = watched();
  const request = details(API, { method: 'POST' });
  witness.began(request);
  witness.ended({ ...request, timeStamp: T + 30, statusCode: 500 });
  expect(witness.name(7, API, '99.4')).toBe(true);
  witness.attached(7, T + 40);
  const [sighting, ...others] = witness.takeEnded(7);
  expect(others).toEqual([]);
  if (sighting === undefined) throw new Error('nothing was seen');
  const event = sightedEvent(7, sighting);
  expect(event).toMatchObject({
    id: '99.4',
    method: 'POST',
    status: 500,
    resource: 'xhr',
    duration: 30,
    backfilled: true,
  });
  expect(checkEvent(event)).toBeUndefined();
  expect(witness.takeEnded(7)).toEqual([]);
});

test('the debugger takes over a request whose answer it sees', () => {
  const witness = watched();
  witness.began(details(API, { method: 'PUT' }));
  expect(witness.forTab(7).adopt(API)).toMatchObject({ method: 'PUT', started: T });
  expect(witness.forTab(7).adopt(API)).toBeUndefined();
});

test('a load is seen whole when its first request was, and no WebSocket was open before', () => {
  const witness = watched();
  witness.began(details(PAGE));
  expect(witness.sawLoad(7, `${PAGE}#top`)).toBe(true);
  expect(witness.sawLoad(7, API)).toBe(false);
  expect(witness.missedFrames(7)).toBe(false);
  const socket = details('ws://localhost:5173/', { type: 'websocket' });
  witness.began(socket);
  expect(witness.missedFrames(7)).toBe(false);
  witness.ended({ ...socket, statusCode: 101 });
  expect(witness.missedFrames(7)).toBe(true);
});

test('a WebSocket whose handshake the debugger sees has lost no frame', () => {
  const witness = watched();
  witness.began(details('ws://localhost:5173/', { type: 'websocket' }));
  expect(witness.adoptSocket(7, true)).toBe('ws://localhost:5173/');
  expect(witness.missedFrames(7)).toBe(false);
});

test('another document begins a new account', () => {
  const witness = watched();
  witness.began(details(API));
  witness.began(details(PAGE, { timeStamp: T + 1000 }));
  expect(witness.seen(7)).toEqual([PAGE]);
});

test('what begins after the debugger watches is not looked at', () => {
  const witness = watched();
  witness.attached(7, T);
  witness.began(details(API, { timeStamp: T + 5000 }));
  expect(witness.seen(7)).toEqual([]);
});

test('pages that are not watched are not looked at', () => {
  const witness = watched();
  witness.began(details('https://bank.example/', { type: 'main_frame' }));
  witness.began(details('https://bank.example/api', { initiator: 'https://bank.example' }));
  witness.began(details(API, { tabId: -1 }));
  expect(witness.seen(7)).toEqual([]);
});

test('the end of a request that began before the worker did is enough', () => {
  const witness = new WebRequestWitness(() => true, T);
  witness.ended(details(API, { statusCode: 404, timeStamp: T + 20 }));
  witness.time(7, API, T - 30, T + 19);
  expect(witness.takeEnded(7)).toMatchObject([{ url: API, status: 404, started: T - 30, ended: T + 19 }]);
  witness.reported(7, API);
  witness.ended(details(API, { statusCode: 404, timeStamp: T + 25 }));
  expect(witness.takeEnded(7)).toEqual([]);
});

test('sockets that were open before are named by the page, as far as webRequest has not', () => {
  const witness = watched();
  witness.openSockets(7, ['ws://localhost:5173/', 'ws://localhost:5173/']);
  witness.openSockets(7, ['ws://localhost:5173/', 'ws://localhost:5173/']);
  expect(witness.adoptSocket(7, true, 'ws://localhost:9/')).toBeUndefined();
  expect(witness.adoptSocket(7, false)).toBe('ws://localhost:5173/');
  expect(witness.adoptSocket(7, false)).toBe('ws://localhost:5173/');
  expect(witness.adoptSocket(7, false)).toBeUndefined();
  expect(witness.takeEnded(7)).toEqual([]);
});
