import { afterEach, expect, test, vi } from 'vitest';
import type { ViewPositions, ViewTimeline } from '../../extension/protocol';
import { HttpClient } from './http-client';

const clients: HttpClient[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  vi.useRealTimers();
});

/** A daemon: what it is asked, and what it answers with. */
function daemon(answer: (path: string, init: RequestInit) => Response | Promise<Response>): {
  client: HttpClient;
  asked: string[];
} {
  const asked: string[] = [];
  const client = new HttpClient('secret', async (input, init = {}) => {
    asked.push(`${init.method ?? 'GET'} ${String(input)}`);
    expect(new Headers(init.headers).get('Authorization')).toBe('Bearer secret');
    return await answer(String(input), init);
  });
  clients.push(client);
  return { client, asked };
}

function timeline(console: number, entries: number): ViewTimeline {
  const next = { console: console + entries } as ViewPositions;
  return { now: 1, start: 1, store: 's', lanes: [], first: {}, next, marks: 'm' } as unknown as ViewTimeline;
}

/** A stream of events that a test writes. */
function stream(): {
  response: () => Response;
  send: (name: string, data: unknown) => void;
  end: () => void;
} {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  return {
    response: () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start(c) {
            controller = c;
          },
        }),
      ),
    send: (name, data) =>
      controller?.enqueue(
        new TextEncoder().encode(`id: x\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`),
      ),
    end: () => controller?.close(),
  };
}

const after = (console: number): ViewPositions => ({ console }) as ViewPositions;

test('each question is one request', async () => {
  const { client, asked } = daemon(() => Response.json({}));
  await client.ask('view_overview', {});
  await client.ask('view_report', { from: 'a', to: 'now', tab: 3 });
  await client.ask('view_entries', { lane: 'console', positions: [1, 2], brief: true });
  await client.ask('view_checkpoint_create', { name: 'a_b', note: 'n' });
  await client.ask('view_checkpoint_rename', { name: 'a/b', to: 'c' });
  await client.ask('view_checkpoint_delete', { name: 'c', tab: 2 });
  await client.ask('view_hold', { agent: 4, held: true });
  await client.ask('view_unignore', { id: 'n1' });
  expect(asked).toEqual([
    'GET /api/overview',
    'GET /api/report?from=a&to=now&tab=3',
    'GET /api/entries?lane=console&positions=1%2C2&brief=true',
    'POST /api/checkpoints',
    'PATCH /api/checkpoints/a%2Fb',
    'DELETE /api/checkpoints/c?tab=2',
    'PUT /api/agents/4/hold',
    'DELETE /api/noise/n1',
  ]);
  expect(client.connection.value.state).toBe('connected');
});

test('a problem is an error in its own words', async () => {
  const { client } = daemon(() =>
    Response.json(
      { title: 'Not Found', detail: 'there is no checkpoint "x"', errors: [{ message: 'more' }] },
      { status: 404 },
    ),
  );
  await expect(client.ask('view_report', { from: 'x' })).rejects.toThrow('there is no checkpoint "x": more');
  expect(client.connection.value.state).toBe('connected');
});

test('a session that has ended says how to go on, and asks no more', async () => {
  const { client, asked } = daemon(() => Response.json({ detail: 'expired' }, { status: 401 }));
  await expect(client.ask('view_overview', {})).rejects.toThrow('tidemark open');
  expect(client.connection.value.state).toBe('refused');
  await expect(client.ask('view_overview', {})).rejects.toThrow('tidemark open');
  client.connect();
  expect(asked).toHaveLength(1);
});

test('a daemon that does not answer is asked again until it does', async () => {
  vi.useFakeTimers();
  let there = false;
  const { client } = daemon(() => (there ? Response.json({}) : Promise.reject(new TypeError('refused'))));
  await expect(client.ask('view_overview', {})).rejects.toThrow('is not running');
  expect(client.connection.value.state).toBe('waiting');
  await vi.advanceTimersByTimeAsync(2100);
  expect(client.connection.value.state).toBe('waiting');
  there = true;
  await vi.advanceTimersByTimeAsync(2100);
  expect(client.connection.value.state).toBe('connected');
});

test('what the timeline waits for comes by one stream, in order and none twice', async () => {
  const events = stream();
  const { client, asked } = daemon(() => events.response());
  const first = client.ask('view_timeline', { after: after(5), marks: 'm', wait_ms: 5000 });
  await vi.waitFor(() => expect(asked).toEqual(['GET /api/events?marks=m&console=5']));
  events.send('timeline', timeline(5, 2));
  events.send('timeline', timeline(7, 1));
  expect((await first).next.console).toBe(7);
  expect((await client.ask('view_timeline', { after: after(7), wait_ms: 5000 })).next.console).toBe(8);
  const third = client.ask('view_timeline', { after: after(8), wait_ms: 5000 });
  events.send('timeline', timeline(8, 1));
  expect((await third).next.console).toBe(9);
  expect(asked).toHaveLength(1);
});

test('another tab or place begins another stream', async () => {
  const events = stream();
  const { client, asked } = daemon(() => {
    const response = events.response();
    events.send('timeline', timeline(1, 1));
    return response;
  });
  await client.ask('view_timeline', { after: after(1), wait_ms: 5000 });
  await client.ask('view_timeline', { after: after(1), tab: 2, wait_ms: 5000 });
  await client.ask('view_timeline', { after: after(50), tab: 2, wait_ms: 5000 });
  expect(asked).toEqual([
    'GET /api/events?console=1',
    'GET /api/events?tab=2&console=1',
    'GET /api/events?tab=2&console=50',
  ]);
});

test('when nothing comes in time, where it stands is asked without waiting', async () => {
  const events = stream();
  const { client, asked } = daemon((path) =>
    path.includes('events') ? events.response() : Response.json(timeline(5, 0)),
  );
  const answer = await client.ask('view_timeline', { after: after(5), wait_ms: 20 });
  expect(answer.next.console).toBe(5);
  expect(asked).toEqual(['GET /api/events?console=5', 'GET /api/timeline?console=5']);
});

test('a stream that was cut off is begun again with the next question', async () => {
  const events = stream();
  const { client, asked } = daemon((path) =>
    path.includes('events') ? events.response() : Response.json(timeline(5, 0)),
  );
  const first = client.ask('view_timeline', { after: after(5), wait_ms: 5000 });
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  events.send('behind', { console: 3 });
  await first;
  const second = client.ask('view_timeline', { after: after(5), wait_ms: 5000 });
  await vi.waitFor(() => expect(asked.filter((a) => a.includes('events'))).toHaveLength(2));
  events.send('timeline', timeline(5, 4));
  expect((await second).next.console).toBe(9);
});
