import { expect, test } from 'vitest';
import { decoded, type Flight, networkEvent, SendTimes, unreadNote, wantsBody } from './request';

test('requests begin in the order in which they were seen, whatever their clocks say', () => {
  const times = new SendTimes();
  const seen = [100, 100, 99, 101, 101, 102].map((at) => times.next(at));
  expect(seen.map(({ started, order }) => [started, order])).toEqual([
    [100, 0],
    [100, 1],
    [100, 2],
    [101, 0],
    [101, 1],
    [102, 0],
  ]);
  // The system's clock was set back.
  expect(new SendTimes().next(1_000_000).order).toBe(0);
  times.next(1_000_000);
  expect(times.next(500_000)).toEqual({ started: 500_000, order: 0 });
});

const flight = (mimeType: string, more: Partial<Flight> = {}): Flight => ({
  id: '1',
  session: {},
  method: 'GET',
  url: 'http://localhost/api',
  resource: 'fetch',
  started: 1,
  order: 0,
  received: 10,
  cached: false,
  reported: false,
  response: { status: 500, mimeType, headers: {} } as unknown as NonNullable<Flight['response']>,
  ...more,
});

test.each([
  'application/json',
  'application/qwik-json',
  'application/x-ndjson',
  'application/problem+json; charset=utf-8',
  'application/soap+xml',
  'application/vnd.api+json',
  'application/xml',
  'Text/Plain',
  'application/x-www-form-urlencoded',
  '',
])('a type of text: %s', (mime) => {
  expect(wantsBody(flight(mime))).toBe(true);
  expect(unreadNote(flight(mime))).toBeUndefined();
});

test.each([
  'application/octet-stream',
  'image/png',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
])('another type, of which the answer says so: %s', (mime) => {
  expect(wantsBody(flight(mime))).toBe(false);
  expect(unreadNote(flight(mime))).toBe('not text');
  expect(unreadNote(flight(mime, { resource: 'image' }))).toBeUndefined();
  expect(unreadNote(flight(mime, { received: 0 }))).toBeUndefined();
});

test('text that the browser took for bytes', () => {
  expect(decoded(btoa('{"a":1}\n{"a":2}\n'))).toBe('{"a":1}\n{"a":2}\n');
  expect(decoded(btoa('\xff\xfe\x00'))).toBeUndefined();
});

test('the order is sent where there is one', () => {
  expect(networkEvent(7, flight('', { order: 2 }), { at: 5 }).order).toBe(2);
  expect('order' in networkEvent(7, flight(''), { at: 5 })).toBe(false);
});
