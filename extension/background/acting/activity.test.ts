import { describe, expect, it } from 'vitest';
import { Activity } from './activity';

const request = (at: number, url: string) =>
  ({ kind: 'request', at, tab: 1, id: 'r', method: 'GET', url, resource: 'document' }) as const;

describe('what a page made', () => {
  it('belongs to the time at which its request began, however late the browser reports it', () => {
    const activity = new Activity();
    activity.saw(request(1000, 'http://localhost/report?token=[masked]'));
    activity.downloads(1, 'report.csv', 'http://localhost/report?token=abc');
    expect(activity.made(1, 2000)).toEqual({ late: { downloads: ['report.csv'] } });
    expect(activity.made(1, 2000)).toEqual({});
  });

  it('belongs to the moment of the report where its request is not known', () => {
    const activity = new Activity();
    activity.saw(request(1000, 'http://localhost/page'));
    activity.downloads(1, 'report.csv', 'http://localhost/report');
    expect(activity.made(1, 2000)).toEqual({ downloads: ['report.csv'] });
  });
});

describe('a request that has not ended', () => {
  it('is named with its query, which may be cut', () => {
    const activity = new Activity();
    const search = (id: string, query: string) =>
      activity.saw({ ...request(Date.now(), `http://localhost/search${query}`), id, resource: 'fetch' });
    search('a', '?q=ab&page=3');
    search('b', `?q=${'x'.repeat(80)}`);
    search('c', '');
    expect(activity.unended(1, 0)).toEqual([
      'GET /search?q=ab&page=3',
      `GET /search?q=${'x'.repeat(56)}…`,
      'GET /search',
    ]);
  });
  it('is named with its GraphQL operation', () => {
    const activity = new Activity();
    const operation = { kind: 'request', at: Date.now(), tab: 1, method: 'POST', resource: 'fetch' } as const;
    activity.saw({ ...operation, id: 'a', url: 'http://localhost/graphql?v=1', operation: 'Pay' });
    activity.saw({ ...operation, id: 'b', url: 'http://localhost/graphql' });
    expect(activity.unended(1, 0)).toEqual(['POST /graphql?v=1 Pay', 'POST /graphql']);
    expect(activity.flights(1, 0)).toEqual(['POST /graphql Pay', 'POST /graphql']);
  });
});
