import { expect, test } from 'vitest';
import { checkEvent } from '../protocol-check';
import { backfill, loggedFailure, readProbe, readTimings, type TimingEntry } from './backfill';

const T = 1795213240000;
const entry = (name: string, rest: Partial<TimingEntry> = {}): TimingEntry => ({
  name: `http://localhost${name}`,
  initiator: 'fetch',
  start: T,
  duration: 12.4,
  status: 200,
  transferred: 300,
  decoded: 10,
  ...rest,
});

test('requests that nobody saw, oldest first', () => {
  const events = backfill(
    7,
    [entry('/b', { start: T + 50, status: 404 }), entry('/', { initiator: 'navigation' }), entry('/known')],
    [],
    ['http://localhost/known'],
  );
  expect(events).toMatchObject([
    { url: 'http://localhost/', resource: 'document', status: 200, started: T, duration: 12 },
    { url: 'http://localhost/b', resource: 'fetch', status: 404 },
  ]);
  expect(events.map(checkEvent).filter(Boolean)).toEqual([]);
});

test('the log’s word joins with the timing of the same address', () => {
  const failure = {
    id: '5.6',
    url: 'http://localhost/a',
    status: 0,
    error: 'net::ERR_CONNECTION_REFUSED',
    at: T + 9,
  };
  const events = backfill(7, [entry('/a', { status: 0, transferred: 0, decoded: 0 })], [failure], []);
  expect(events).toMatchObject([{ id: '5.6', status: 0, error: 'net::ERR_CONNECTION_REFUSED', started: T }]);
});

test('a failure without timing is reported all the same', () => {
  expect(backfill(7, [], [{ id: '5.6', url: 'http://localhost/a', status: 500, at: T }], [])).toMatchObject([
    { id: '5.6', status: 500, started: T, duration: 0 },
  ]);
});

test('what nobody can tell the outcome of is left out', () => {
  expect(backfill(7, [entry('/opaque', { status: 0 }), entry('', { name: 'data:,x' })], [], [])).toEqual([]);
});

test('as many of the same address as nobody saw', () => {
  const twice = [entry('/a', { start: T }), entry('/a', { start: T + 5 })];
  expect(backfill(7, twice, [], ['http://localhost/a'])).toHaveLength(1);
  expect(backfill(7, twice, [], [])).toHaveLength(2);
});

test('log entries about failed requests', () => {
  const log = {
    source: 'network',
    level: 'error',
    timestamp: T + 0.7,
    url: 'http://localhost/a',
    networkRequestId: '5.6',
  } as const;
  const status = 'Failed to load resource: the server responded with a status of 404 (Not Found)';
  expect(loggedFailure({ ...log, text: status })).toEqual({
    id: '5.6',
    url: 'http://localhost/a',
    status: 404,
    at: T,
  });
  expect(loggedFailure({ ...log, text: 'Failed to load resource: net::ERR_FAILED' })).toMatchObject({
    status: 0,
    error: 'net::ERR_FAILED',
  });
  expect(loggedFailure({ ...log, text: 'something else' })).toBeUndefined();
});

test('a page that tampers with its timing is not believed', () => {
  expect(readProbe({ url: 1, origin: 'x' })).toBeUndefined();
  expect(readProbe(undefined)).toBeUndefined();
  expect(readTimings({ origin: 1, entries: [{ name: {} }, entry('/a')] }).entries).toHaveLength(1);
  expect(readTimings(null)).toEqual({ origin: 0, entries: [] });
});
