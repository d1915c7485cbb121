import { expect, test } from 'vitest';
import type { AnyEvent } from '../../protocol';
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
