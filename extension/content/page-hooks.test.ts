// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest';
import { RECORDS } from '../page/records';
import { PageHooks } from './page-hooks';

/** The content script's end, and a function that sends a list of records to it as the hooks do. */
function connected() {
  const post = vi.fn(() => true);
  const hooks = new PageHooks(document, { tell: 'tell', ask: 'ask' }, post, new AbortController().signal);
  const node = document.createTextNode('');
  document.dispatchEvent(new MouseEvent('tell', { relatedTarget: node }));
  return {
    hooks,
    post,
    record: (detail: string) => node.dispatchEvent(new CustomEvent(RECORDS, { detail })),
  };
}

test('records wait for the worker', () => {
  const { hooks, post, record } = connected();
  record('1 [1]');
  expect(post).not.toHaveBeenCalled();
  hooks.want(true);
  expect(post).toHaveBeenCalledExactlyOnceWith(['1 [1]'], 0);
});

test('a page that is left before it heard from the worker passes on its records', () => {
  const { hooks, post, record } = connected();
  record('1 [1]');
  hooks.leave();
  record('1 [2]');
  expect(post.mock.calls).toEqual([
    [['1 [1]'], 0],
    [['1 [2]'], 0],
  ]);
});

test('a page whose records are not wanted passes on none', () => {
  const { hooks, post, record } = connected();
  record('1 [1]');
  hooks.want(false);
  record('1 [2]');
  hooks.leave();
  expect(post).not.toHaveBeenCalled();
});
