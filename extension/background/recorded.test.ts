import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ActResult, AnyEvent, DebugState, Events } from '../protocol';
import { checkEvent } from '../protocol-check';
import { FakeBrowser, type FakePort } from './testing/browser';
import { type Recorded, Replay } from './testing/replay';
import { createWorker } from './worker';

const recordings = import.meta.glob<Recorded[]>('./testdata/*.json', { import: 'default', eager: true });
const NAMES = { userAgent: 'Mozilla/5.0 Chrome/156.0.0.0 Safari/537.36' };

let browser: FakeBrowser;
let replay: Replay;
let host: FakePort;

beforeEach(() => {
  vi.useFakeTimers({ now: 1795383120000 });
  browser = new FakeBrowser();
  vi.stubGlobal('chrome', browser.chrome);
});
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms = 1): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Starts a worker, connects it, and replays a recording up to where an agent asks for something. */
async function begin(name: string): Promise<void> {
  replay = new Replay(browser, recordings[`./testdata/${name}.json`] ?? []);
  const { begun } = createWorker(browser.chrome, NAMES);
  await pass(300);
  await begun;
  host = browser.natives[0] as FakePort;
  host.onMessage.fire({ type: 'welcome', protocol: 1, host: '0.1.0', next: 1, run: 'run' });
  await replay.play(pass);
}

let requests = 0;

/** Asks the worker as the host does; resolves when it has answered, and the recording was replayed so far. */
async function ask<T>(method: string, params: object): Promise<T> {
  const id = ++requests;
  host.onMessage.fire({ type: 'request', id, method, params: { tab: replay.tab, ...params } });
  await replay.play(pass);
  await pass(2000);
  const answer = host.got.find((message) => message.type === 'response' && message.id === id);
  expect(answer).toMatchObject({ result: expect.anything() });
  return answer?.result as T;
}

const events = (): AnyEvent[] =>
  host.got
    .filter(({ type }) => type === 'events')
    .flatMap((message) => (message as unknown as Events).events as AnyEvent[]);

/** What a reader wants to see of an event: all but times, stacks and headers. */
function line({ kind, at: _, tab: __, ...rest }: AnyEvent): string {
  const hidden = new Set(['stack', 'request_headers', 'response_headers', 'started', 'duration', 'document']);
  return `${kind} ${JSON.stringify(rest, (key, value: unknown) => (hidden.has(key) ? undefined : value))}`;
}

test('a page that is captured quietly becomes these events', async () => {
  await begin('quiet');
  await pass(3000);
  expect(replay.done).toBe(true);
  expect(events().map(checkEvent).filter(Boolean)).toEqual([]);
  await expect(`${events().map(line).join('\n')}\n`).toMatchFileSnapshot('./testdata/quiet.events');
  expect(JSON.stringify(events())).not.toContain('4f9c2b7a1d8e6035');
  const open = new Map<string, number>();
  for (const event of events()) {
    if (event.kind === 'request') open.set(event.id, (open.get(event.id) ?? 0) + 1);
    if (event.kind === 'network') open.set(event.id, (open.get(event.id) ?? 0) - 1);
  }
  expect(open.size).toBeGreaterThan(3);
  expect([...open.values()].filter((n) => n !== 0)).toEqual([]);
});

test('a click and typing go to the page as they were recorded', async () => {
  await begin('acting');
  const limits = { timeout_ms: 5000, settle_ms: 1000 };
  const element = (id: number) => [{ frame: 0, document: 'D', id }];
  const clicked = await ask<ActResult>('act', { ...limits, steps: [{ op: 'click', path: element(1) }] });
  expect(clicked).toMatchObject({ done: 1, began: expect.any(Number) });
  expect(clicked.untrusted).toBeUndefined();
  const posted = events().filter((event) => event.kind === 'network' && event.url.endsWith('/api/cart'));
  expect(posted).toMatchObject([{ method: 'POST', status: 201 }]);
  const typed = await ask<ActResult>('act', {
    ...limits,
    steps: [{ op: 'type', path: element(2), texts: ['Ada'] }],
  });
  expect(typed).toMatchObject({ done: 1 });
  expect(events().filter(({ kind }) => kind === 'action')).toMatchObject([
    { action: 'click', target: 'button "Add"' },
    { action: 'type', target: 'textbox "Name"' },
  ]);
  expect(replay.sent.slice(0, replay.commands.length)).toEqual(replay.commands);
  expect(replay.unknown.filter((asked) => !asked.startsWith('Emulation.'))).toEqual([]);
});

test('a breakpoint pauses the page, which is stepped and resumed', async () => {
  await begin('debugging');
  const caller = { by: 'claude', client: 1, release_ms: 60_000 };
  const breakpoint = {
    id: 'bp-1',
    client: 1,
    places: [{ pattern: '^([^?#]*/)?app\\.js([?#].*)?$', line: 4 }],
    original: true,
  };
  const placed = await ask<object>('debug_breakpoint', { ...caller, breakpoint });
  expect(placed).toMatchObject({ locations: [{ line: 4, column: 17 }] });
  const paused = await ask<DebugState>('debug_state', caller);
  const [page] = paused.threads;
  expect(page?.paused).toMatchObject({ reason: 'breakpoint', by: 'claude', hit: ['bp-1'] });
  expect(page?.paused?.frames[0]).toMatchObject({ function: 'total', line: 4 });
  const stepped = await ask<DebugState>('debug_run', { ...caller, kind: 'over', wait_ms: 1000 });
  expect(stepped.threads[0]?.paused).toMatchObject({ reason: 'step' });
  await ask('debug_remove', { ...caller, id: 'bp-1' });
  const resumed = await ask<DebugState>('debug_run', { ...caller, kind: 'resume' });
  expect(resumed.threads[0]).toMatchObject({ resumed: { how: 'agent' } });
  expect(resumed.threads[0]?.paused).toBeUndefined();
  expect(replay.done).toBe(true);
  expect(replay.sent).toEqual(replay.commands);
});
