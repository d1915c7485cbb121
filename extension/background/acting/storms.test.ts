import { describe, expect, it } from 'vitest';
import type { NetworkEvent } from '../../protocol';
import { Activity } from './activity';
import { Storms } from './storms';

type Ended = NetworkEvent & { kind: 'network' };

const ended = (started: number, duration: number, more: Partial<Omit<Ended, 'kind'>> = {}): Ended => ({
  kind: 'network',
  at: started + duration,
  tab: 1,
  id: `r${started}`,
  method: 'GET',
  url: 'http://localhost/feed',
  resource: 'fetch',
  status: 200,
  started,
  duration,
  ...more,
});

/** Whether a storm goes on after requests that each take a while, with a pause between them. */
function storm(
  count: number,
  duration: number,
  pause: number,
  more: (i: number) => Partial<Omit<Ended, 'kind'>> = () => ({}),
): boolean {
  const storms = new Storms();
  let at = 1_000_000;
  for (let i = 0; i < count; i++) {
    storms.saw(ended(at, duration, more(i)), 'GET /feed');
    at += duration + pause;
  }
  return storms.goesOn('GET /feed', at);
}

describe('a storm', () => {
  it('is a loop, and what a page asks for five times a second', () => {
    expect(storm(12, 5, 195)).toBe(true);
    expect(storm(12, 180, 20)).toBe(true);
    expect(storm(12, 600, 20)).toBe(true);
    expect(storm(400, 2, 1)).toBe(true);
    expect(storm(12, 50, 50, (i) => ({ url: `http://localhost/feed?t=${1769164200000 + i}` }))).toBe(true);
    const id = (i: number) => String.fromCharCode(97 + i).repeat(7);
    expect(storm(12, 50, 50, (i) => ({ url: `http://localhost/poll?transport=polling&t=${id(i)}` }))).toBe(
      true,
    );
    expect(storm(12, 50, 50, (i) => ({ url: `http://localhost/search?q=${id(i)}` }))).toBe(false);
  });

  it('is no poll, no burst and no typing', () => {
    expect(storm(100, 5, 245)).toBe(false);
    expect(storm(100, 5, 995)).toBe(false);
    expect(storm(11, 5, 195)).toBe(false);
    expect(storm(300, 2, 1)).toBe(false);
    expect(storm(30, 5, 95, (i) => ({ url: `http://localhost/feed?q=${'a'.repeat(i)}` }))).toBe(false);
    expect(storm(30, 5, 95, (i) => ({ method: 'PUT', request_body: 'a'.repeat(i) }))).toBe(false);
  });

  it('is a loop that asks for something else each time, after five seconds', () => {
    const stack = ['load (http://localhost/app.js:3:1)'];
    const page = (i: number) => ({ url: `http://localhost/feed?page=${i}`, stack });
    expect(storm(90, 5, 55, page)).toBe(true);
    expect(storm(70, 5, 55, page)).toBe(false);
    expect(storm(900, 50, 5, page)).toBe(false);
    expect(storm(90, 5, 55, (i) => ({ ...page(i), stack: [`f (http://localhost/app.js:${i}:1)`] }))).toBe(
      false,
    );
    expect(storm(90, 5, 115, (i) => ({ url: `http://localhost/feed?q=${'a'.repeat(i)}`, stack }))).toBe(
      false,
    );
    const storms = new Storms();
    for (let i = 0; i < 90; i++) {
      storms.saw(ended(i * 60, 5, { url: `http://localhost/items/${i}`, stack }), `GET /items/${i}`);
    }
    expect(storms.goesOn('GET /items/90', 5400)).toBe(true);
    expect(storms.goesOn('GET /items', 5400)).toBe(false);
  });

  it('ends', () => {
    const storms = new Storms();
    for (let i = 0; i < 20; i++) storms.saw(ended(i * 100, 5), 'GET /feed');
    expect(storms.goesOn('GET /feed', 2500)).toBe(true);
    expect(storms.goesOn('GET /other', 2500)).toBe(false);
    expect(storms.goesOn('GET /feed', 3500)).toBe(false);
  });
});

describe('an action', () => {
  it('waits for no request of a storm, and for others', () => {
    const activity = new Activity();
    activity.looks(1);
    const now = Date.now();
    for (let i = 20; i > 0; i--) activity.saw(ended(now - i * 100, 95));
    const request = { kind: 'request', at: now, tab: 1, method: 'GET', resource: 'fetch' } as const;
    activity.saw({ ...request, id: 'a', url: 'http://localhost/feed' });
    activity.saw({ ...request, id: 'b', url: 'http://localhost/cart' });
    expect(activity.flights(1, 0)).toEqual(['GET /cart']);
    expect(activity.unended(1, 0)).toEqual(['GET /cart']);
    activity.navigates(1, 'commits');
    activity.saw({ ...request, id: 'c', url: 'http://localhost/feed' });
    expect(activity.flights(1, 0)).toEqual(['GET /feed']);
  });
  it('waits for another operation at the address of a storm', () => {
    const activity = new Activity();
    activity.looks(1);
    const now = Date.now();
    const graphql = { tab: 1, method: 'POST', resource: 'fetch', url: 'http://localhost/graphql' } as const;
    for (let i = 20; i > 0; i--) {
      const at = now - i * 100;
      activity.saw({ ...graphql, kind: 'request', at, id: `r${at}`, operation: 'Feed' });
      activity.saw(ended(at, 95, graphql));
    }
    activity.saw({ ...graphql, kind: 'request', at: now, id: 'a', operation: 'Feed' });
    activity.saw({ ...graphql, kind: 'request', at: now, id: 'b', operation: 'Pay' });
    expect(activity.flights(1, 0)).toEqual(['POST /graphql Pay']);
  });
});
