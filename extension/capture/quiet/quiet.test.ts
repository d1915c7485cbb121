import { expect, test, vi } from 'vitest';
import type { AnyEvent } from '../../protocol';
import { checkEvent } from '../../protocol-check';
import { QuietSource } from './quiet';

const NEXT = 'http://localhost:3000/';

function source(): { quiet: QuietSource; events: AnyEvent[]; allow: (watched: boolean) => void } {
  const events: AnyEvent[] = [];
  let watched = true;
  const quiet = new QuietSource({
    emit: (event) => events.push(event),
    wanted: (_, url) => watched && url.startsWith(NEXT),
    flush: () => Promise.resolve(),
  });
  return { quiet, events, allow: (to) => (watched = to) };
}

const request = (requestId: string, type: string, url: string) => ({
  requestId,
  type,
  url,
  tabId: 1,
  method: 'GET',
  timeStamp: 1000,
});
const ends = (details: object) => ({ ...details, statusCode: 200 }) as never;
const finished = (events: AnyEvent[]) =>
  events.flatMap((event) => (event.kind === 'network' ? [event.url] : []));

test('the request for the next document outlives an unwatched page that the browser still commits', async () => {
  const { quiet, events } = source();
  const next = request('7', 'main_frame', NEXT);
  const image = request('8', 'image', `${NEXT}a.png`);
  quiet.began(next as never);
  quiet.began({ ...image, initiator: NEXT } as never);
  await quiet.stop(1); // about:blank, a renderer late
  quiet.step('ended', ends(next));
  quiet.step('ended', ends(image));
  await quiet.start(1, {} as never);
  expect(finished(events)).toEqual([NEXT]);
});

test('a tab that is switched off has no request reported that ends afterwards', async () => {
  const { quiet, events, allow } = source();
  const next = request('7', 'main_frame', NEXT);
  quiet.began(next as never);
  allow(false);
  await quiet.stop(1);
  quiet.step('ended', ends(next));
  expect(finished(events)).toEqual([]);
});

const API = `${NEXT}api`;
const stack = 'Error\n    at load (http://localhost:3000/app.js:7:3)';
const failed = (note = 'TypeError: Failed to fetch', at = stack): string =>
  `1 ${JSON.stringify([['answer', 1001, 'fetch', 'GET', API, 0, '', null, note, 1000, at]])}`;
const network = (events: AnyEvent[]) => events.flatMap((event) => (event.kind === 'network' ? [event] : []));

test('a request without an answer waits for the code that made it', async () => {
  vi.useFakeTimers();
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const asks = { ...request('9', 'xmlhttprequest', API), initiator: NEXT };
  quiet.began(asks as never);
  quiet.step('ended', { ...asks, error: 'net::ERR_CONNECTION_REFUSED' } as never);
  expect(network(events)).toEqual([]);
  quiet.page(1, 0, 'document', [failed()]);
  expect(network(events)).toMatchObject([
    {
      error: 'net::ERR_CONNECTION_REFUSED',
      resource: 'fetch',
      stack: ['load (http://localhost:3000/app.js:7:3)'],
    },
  ]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(network(events)).toHaveLength(1);
  expect(events.map(checkEvent).filter(Boolean)).toEqual([]);
  vi.useRealTimers();
});

test('one that failed after a redirect is told once, with the code that asked', async () => {
  vi.useFakeTimers();
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const asks = { ...request('9', 'xmlhttprequest', API), initiator: NEXT };
  const other = { ...asks, url: 'http://localhost:4000/elsewhere' };
  quiet.began(asks as never);
  quiet.step('redirected', { ...asks, statusCode: 302 } as never);
  quiet.began(other as never);
  quiet.page(1, 0, 'document', [failed()]);
  quiet.step('ended', { ...other, error: 'net::ERR_FAILED' } as never);
  await vi.advanceTimersByTimeAsync(2000);
  expect(network(events).map(({ url, status, error, stack }) => [url, status, error, stack?.length])).toEqual(
    [
      [API, 302, undefined, undefined],
      [other.url, 0, 'CORS: blocked (net::ERR_FAILED)', 1],
    ],
  );
  vi.useRealTimers();
});

test('a record of an answer that the page has forged changes nothing', async () => {
  vi.useFakeTimers();
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const asks = { ...request('9', 'xmlhttprequest', API), initiator: NEXT };
  quiet.began(asks as never);
  quiet.page(1, 0, 'document', [
    failed('x', 7 as never),
    `1 ${JSON.stringify([['answer', 1, 'fetch', 'GET', API]])}`,
  ]);
  quiet.step('ended', ends(asks));
  await vi.advanceTimersByTimeAsync(2000);
  expect(network(events)).toMatchObject([{ url: API, status: 200 }]);
  vi.useRealTimers();
});

test('an error of a document that was left is marked', async () => {
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const thrown = `1 ${JSON.stringify([['thrown', 1000, 'exception', 'Error: x', 0, '', 0, 0, '', false]])}`;
  quiet.committed({ tabId: 1, frameId: 0, documentId: 'first', url: NEXT });
  quiet.page(1, 0, 'first', [thrown]);
  quiet.committed({ tabId: 1, frameId: 0, documentId: 'second', url: `${NEXT}two` });
  quiet.page(1, 0, 'first', [thrown]);
  quiet.page(1, 0, 'second', [thrown]);
  quiet.page(1, 4, 'frame', [thrown]);
  const left = events.flatMap((event) => (event.kind === 'console' ? [event.left] : []));
  expect(left).toEqual([undefined, true, undefined, undefined]);
});

test('a connection names the code that opened it, its frames do not', async () => {
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const step = (op: string, text = '') => [
    'socket',
    1000,
    1,
    'ws://localhost:3000/live',
    op,
    text,
    0,
    false,
    0,
    op === 'sent' ? '' : stack,
  ];
  quiet.page(1, 0, 'd', [`3 ${JSON.stringify([step('open'), step('sent', 'hi')])}`]);
  quiet.frameGone(1, 0);
  const sockets = events.flatMap((event) => (event.kind === 'websocket' ? [[event.op, event.stack]] : []));
  const lines = ['load (http://localhost:3000/app.js:7:3)'];
  expect(sockets).toEqual([
    ['open', lines],
    ['sent', undefined],
    ['close', lines],
  ]);
});

/** What is said of sheets that came as they should at links that failed, beside some sheets that did not come. */
async function unloaded(
  { tag, type, mime, more }: { tag: string; type: string; mime: string; more: boolean[] },
  paths: readonly string[],
  missing: readonly string[],
): Promise<string[]> {
  vi.useFakeTimers();
  const { quiet, events } = source();
  await quiet.start(1, {} as never);
  const answers = (path: string, status: number, mime: string): void => {
    const asks = { ...request(path, type, NEXT + path), initiator: NEXT };
    quiet.began(asks as never);
    const responseHeaders = [{ name: 'Content-Type', value: mime }];
    quiet.step('responded', { ...asks, statusCode: status, responseHeaders } as never);
    quiet.step('ended', { ...asks, statusCode: status, responseHeaders } as never);
  };
  for (const path of paths) answers(path, 200, mime);
  for (const path of missing) answers(path, 404, 'text/plain');
  const fails = (path: string) => ['resource', 1001, tag, NEXT + path, ...more];
  quiet.page(1, 0, 'document', [`1 ${JSON.stringify(paths.map(fails))}`]);
  await vi.advanceTimersByTimeAsync(5000);
  vi.useRealTimers();
  return events.flatMap((event) => (event.kind === 'console' ? [event.text] : []));
}

const sheets = unloaded.bind(null, {
  tag: 'link',
  type: 'stylesheet',
  mime: 'text/css; charset=utf-8',
  more: [false],
});

/** The messages about scripts with an integrity or without, modules or not, that came with a MIME type. */
const scripts = (integrity: boolean, module: boolean, mime: string, ...missing: string[]) =>
  unloaded({ tag: 'script', type: 'script', mime, more: [integrity, module] }, ['a.js', 'b.js'], missing);

test('a style sheet is named for an import that failed where no other sheet may have it', async () => {
  const named = (path: string) =>
    `Failed to load <link> ${NEXT}${path}: an import of this style sheet failed`;
  expect(await sheets(['one.css', 'two.css'], [])).toEqual([named('one.css'), named('two.css')]);
  // The failed import is reported as a request. Which of the sheets has it is not known, nor which has the other one.
  expect(await sheets(['one.css', 'two.css'], ['missing.css'])).toEqual([
    'Failed to load a style sheet that another one imports',
  ]);
  expect(await sheets(['one.css', 'two.css'], ['missing.css', 'absent.css'])).toEqual([]);
});

test('a script of the right type is said to have failed for what is known alone', async () => {
  const both = (why: string) =>
    ['a.js', 'b.js'].map((path) => `Failed to load <script> ${NEXT}${path}${why}`);
  const imports = both(': a module that it imports did not load');
  expect(await scripts(false, true, 'text/javascript; charset=utf-8')).toEqual(imports);
  // The missing module is reported as a request, once for all that import it.
  expect(await scripts(false, true, 'application/javascript', 'missing.js')).toEqual([]);
  expect(await scripts(true, true, 'text/javascript')).toEqual(both(': its integrity was checked'));
  expect(await scripts(false, false, 'text/javascript', 'missing.js')).toEqual(both(''));
  expect(await scripts(false, true, 'text/html')).toEqual(both(": it came with the MIME type 'text/html'"));
});
