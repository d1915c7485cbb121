import { expect, test } from 'vitest';
import { isOwnPage } from './senders';

const runtime = { id: 'abc', getURL: (path: string) => `chrome-extension://abc/${path}` };
const own = 'chrome-extension://abc';

test('pages of the extension may speak to the worker as such: popup, panel, and those in a tab', () => {
  expect(isOwnPage({ id: 'abc', url: `${own}/popup/index.html`, origin: own }, runtime)).toBe(true);
  expect(isOwnPage({ id: 'abc', url: `${own}/panel/index.html` }, runtime)).toBe(true);
});

test('content scripts, other extensions and pages that look like it may not', () => {
  expect(
    isOwnPage({ id: 'abc', url: 'http://localhost:5173/', origin: 'http://localhost:5173' }, runtime),
  ).toBe(false);
  expect(isOwnPage({ id: 'abc', url: `${own}/x`, origin: 'http://localhost' }, runtime)).toBe(false);
  expect(isOwnPage({ id: 'abc', url: 'http://localhost/chrome-extension://abc/' }, runtime)).toBe(false);
  expect(isOwnPage({ id: 'abc', url: 'chrome-extension://abcd/panel/index.html' }, runtime)).toBe(false);
  expect(isOwnPage({ id: 'other', url: `${own}/popup/index.html`, origin: own }, runtime)).toBe(false);
  expect(isOwnPage({ id: 'abc' }, runtime)).toBe(false);
  expect(isOwnPage(undefined, runtime)).toBe(false);
});
