import { expect, test } from 'vitest';
import { hostTabs, popupTabs, type TabFacts } from './listing';
import { type Choices, isDevelopment, isWatched, permissionFor, watchableOrigin, why } from './rules';

const choices = (origins: Record<string, boolean> = {}, off: number[] = []): Choices => ({
  origins,
  tabsOff: new Set(off),
});

test.each([
  ['http://localhost:5173', true],
  ['https://localhost', true],
  ['http://shop.localhost:3000', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['http://app.test', true],
  ['https://example.com', false],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://latest', false],
])('%s is a development origin: %s', (origin, expected) => {
  expect(isDevelopment(origin)).toBe(expected);
});

test('only pages of http and https can be watched', () => {
  expect(watchableOrigin('http://localhost:5173/a?b#c')).toBe('http://localhost:5173');
  expect(watchableOrigin('http://127.0.0.1:4123/')).toBe('http://127.0.0.1:4123');
  for (const url of [
    'chrome://version',
    'about:blank',
    'file:///tmp/x',
    'devtools://x',
    'no url',
    '',
    'http://127.0.0.1:4123/tidemark-dashboard/',
    undefined,
  ]) {
    expect(watchableOrigin(url)).toBeUndefined();
  }
});

test('development origins by themselves, others when a person switched them on', () => {
  expect(isWatched(1, 'http://localhost:5173/', choices())).toBe(true);
  expect(isWatched(1, 'https://example.com/', choices())).toBe(false);
  expect(isWatched(1, 'https://example.com/', choices({ 'https://example.com': true }))).toBe(true);
  expect(isWatched(1, 'https://sub.example.com/', choices({ 'https://example.com': true }))).toBe(false);
});

test('a person’s off wins', () => {
  expect(isWatched(1, 'http://localhost:5173/', choices({}, [1]))).toBe(false);
  expect(isWatched(2, 'http://localhost:5173/', choices({}, [1]))).toBe(true);
  expect(isWatched(1, 'http://localhost:5173/', choices({ 'http://localhost:5173': false }))).toBe(false);
  expect(why(1, 'https://example.com', choices({ 'https://example.com': true }, [1]))).toBe('off_tab');
});

test('permissions name the host without its port', () => {
  expect(permissionFor('https://example.com:8443')).toBe('https://example.com/*');
});

const facts: TabFacts = {
  choices: choices({ 'https://example.com': true }),
  capturing: (tab) => tab !== 3,
  dom: () => true,
  note: (tab) => (tab === 3 ? 'Turned off.' : undefined),
  paused: () => undefined,
  pausedPart: () => undefined,
  title: (_, title) => title,
  way: (tab) => (tab === 4 ? undefined : 'debugger'),
  wanted: () => 'quiet',
  window: 1,
};
const browser = [
  { id: 1, url: 'chrome://version/', title: 'Version', active: false, windowId: 1 },
  { id: 2, url: 'http://localhost:5173/?token=abc123def456', title: 'Shop', active: false, windowId: 1 },
  { id: 3, url: 'https://bank.example/account/42', title: 'Balance', active: true, windowId: 1 },
  { id: 4, url: 'https://example.com/', title: 'Example', active: true, windowId: 2 },
];

test('the host learns no more than the origin of a tab that is not watched', () => {
  expect(hostTabs(browser, facts)).toEqual([
    {
      id: 2,
      url: 'http://localhost:5173/?token=[masked]',
      title: 'Shop',
      watched: true,
      capture: 'debugger',
      dom: true,
    },
    { id: 3, url: 'https://bank.example/', title: '', watched: false, active: true, note: 'Turned off.' },
    { id: 4, url: 'https://example.com/', title: 'Example', watched: true, capture: '', dom: true },
  ]);
});

test('a captured tab is in the list before its first page has arrived', () => {
  const blank = {
    url: 'about:blank',
    pendingUrl: 'http://localhost:5173/orders',
    active: false,
    windowId: 1,
  };
  const list = [5, 3].map((id) => ({ ...blank, id })); // tab 3 is not captured
  expect(hostTabs(list, facts)).toEqual([
    { id: 5, url: 'http://localhost:5173/', title: '', watched: false },
  ]);
});

test('the popup lists its own tab first, and the permission that is missing', () => {
  const list = popupTabs(browser, facts, new Set(['https://bank.example/*']));
  expect(list.map(({ id }) => id)).toEqual([3, 2, 4]);
  expect(list[0]).toMatchObject({ watched: false, why: 'not_chosen', permission: 'https://bank.example/*' });
  expect(list[1]).toMatchObject({ watched: true, why: 'development' });
  expect(list[1]).not.toHaveProperty('permission');
  expect(list.map(({ way }) => way)).toEqual([undefined, 'debugger', 'quiet']);
});
