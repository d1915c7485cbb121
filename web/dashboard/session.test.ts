import { expect, test } from 'vitest';
import { eventsOf, type ServerEvent } from './events';
import { type Browser, SignedOut, signIn } from './session';

/** A browser tab with an address and what it keeps. */
function tab(
  hash: string,
  kept: string | null,
  answer: Response,
): { browser: Browser; store: Map<string, string>; asked: string[] } {
  const store = new Map<string, string>(kept === null ? [] : [['tidemark.session', kept]]);
  const asked: string[] = [];
  const location = { hash, pathname: '/tidemark-dashboard/' };
  return {
    store,
    asked,
    browser: {
      location,
      history: {
        replaceState: (_data, _unused, url) => {
          location.hash = url.includes('#') ? url : '';
        },
      },
      sessionStorage: {
        getItem: (key) => store.get(key) ?? null,
        setItem: (key, value) => void store.set(key, value),
      },
      fetch: async (input, init) => {
        asked.push(`${input} ${String(init?.body)}`);
        return answer;
      },
    },
  };
}

const GOOD = { token: 't1', until: '2026-01-23T22:00:00Z' };

test('a code is exchanged, kept, and gone from the address', async () => {
  const { browser, store, asked } = tab('#CODE', null, Response.json(GOOD, { status: 201 }));
  expect(await signIn(browser)).toMatchObject(GOOD);
  expect(asked).toEqual(['/api/session {"code":"CODE"}']);
  expect(browser.location.hash).toBe('');
  expect(JSON.parse(store.get('tidemark.session') ?? '')).toEqual(GOOD);
});

test('without a code, what the tab keeps is used', async () => {
  const { browser, asked } = tab('', JSON.stringify(GOOD), Response.json({}));
  expect(await signIn(browser)).toEqual(GOOD);
  expect(asked).toEqual([]);
});

test('without either, it is said how to sign in', async () => {
  const { browser } = tab('', null, Response.json({}));
  await expect(signIn(browser)).rejects.toThrow('tidemark open');
  await expect(signIn(browser)).rejects.toBeInstanceOf(SignedOut);
});

test('a code that was used leaves a tab signed in that is', async () => {
  const refused = Response.json({}, { status: 403 });
  expect(await signIn(tab('#OLD', JSON.stringify(GOOD), refused).browser)).toEqual(GOOD);
  await expect(signIn(tab('#OLD', null, refused).browser)).rejects.toThrow(
    'already been used or has expired',
  );
});

test('events are read as they come, in whatever pieces', async () => {
  const text =
    ': still here\n\nid: 1\nevent: timeline\ndata: {"a":\ndata: "ü"}\n\nevent: behind\ndata: {}\n\ndata: cut';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 1000]) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    const events: ServerEvent[] = [];
    for await (const event of eventsOf(body)) events.push(event);
    expect(events).toEqual([
      { id: '1', name: 'timeline', data: '{"a":\n"ü"}' },
      { name: 'behind', data: '{}' },
    ]);
  }
});
