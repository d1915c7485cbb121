// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ContentEvent } from '../../messages';
import { EmptyPage, isEmpty } from './empty-page';

let ending: AbortController;
let told: string[];
let page: EmptyPage;
let observer: MutationObserver;

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
  ending = new AbortController();
  told = [];
  const emit = (event: ContentEvent): void => {
    if (event.kind === 'element') told.push(`${event.op} ${event.at}`);
  };
  page = new EmptyPage(document, { document: 'd1', emit, signal: ending.signal });
  observer = new MutationObserver(() => undefined);
  observer.observe(document, { subtree: true, childList: true, characterData: true });
});
afterEach(() => {
  ending.abort();
  observer.disconnect();
  vi.useRealTimers();
  document.body.innerHTML = '';
});

/** Has the page see its changes, and lets time pass. */
function pass(ms: number): void {
  const records = observer.takeRecords();
  if (records.length > 0) page.changed(records);
  vi.advanceTimersByTime(ms);
}

describe('an empty page', () => {
  it.each([
    ['<div id="root"></div>', true],
    ['<div id="root"><!-- --> \n</div><script>let x = "text"</script><style>a { color: red }</style>', true],
    ['<noscript>Turn on JavaScript</noscript><div id="root"></div>', true],
    ['<div hidden>Later</div><div id="root"></div>', true],
    ['<div id="root"></div><vite-error-overlay></vite-error-overlay>', true],
    ['<div id="root">Shop</div>', false],
    ['<div id="root"><main><canvas></canvas></main></div>', false],
    ['<input>', false],
  ])('%s: %s', (html, empty) => {
    document.body.innerHTML = html;
    expect(isEmpty(document)).toBe(empty);
  });

  it.each([
    ['<main></main>', 'an empty element in place of the content'],
    ['<div class="layout"><header></header><main><ul></ul></main></div>', 'wrappers without content'],
    [' <!-- nothing -->', 'a comment'],
  ])('that goes empty by %s: %s', (html) => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    page.start(window);
    pass(5000);
    (document.getElementById('root') as Element).innerHTML = html;
    pass(400);
    expect(told).toEqual(['emptied 6000']);
  });

  it('is no page whose parts are replaced by others', () => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    page.start(window);
    pass(5000);
    (document.getElementById('root') as Element).innerHTML = '<main><p>Orders</p></main>';
    pass(400);
    expect(told).toEqual([]);
  });

  it.each([
    ['contents', false],
    ['none', true],
  ])('below an element without a box of its own, display: %s', (display, empty) => {
    document.body.innerHTML = `<div style="display: ${display}"><h1>Shop</h1></div>`;
    const wrapper = document.body.firstElementChild as Element;
    wrapper.checkVisibility = () => false; // as the browser says of both
    expect(isEmpty(document)).toBe(empty);
  });

  it('is not assumed where there is too much to look at', () => {
    document.body.innerHTML = '<i></i>'.repeat(600);
    expect(isEmpty(document)).toBe(false);
  });

  it('is reported when its content was removed, with the time of that, and once', () => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    page.start(window);
    pass(2000);
    expect(told).toEqual([]);
    document.querySelector('h1')?.remove();
    pass(299);
    expect(told).toEqual([]);
    pass(1);
    expect(told).toEqual(['emptied 3000']);
    pass(5000);
    expect(told).toEqual(['emptied 3000']);
    expect(page.shown()).toEqual([{ kind: 'element', op: 'emptied', at: 3000, document: 'd1', id: 0 }]);
  });

  it('is not one that is about to show something else', () => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    page.start(window);
    pass(2000);
    document.querySelector('h1')?.remove();
    pass(100);
    (document.getElementById('root') as Element).innerHTML = '<h1>Cart</h1>';
    pass(5000);
    expect(told).toEqual([]);
  });

  it('that had content since it was loaded is empty from when that was removed', () => {
    document.body.innerHTML = '<div id="root"></div>';
    page.start(window);
    pass(500);
    (document.getElementById('root') as Element).innerHTML = '<h1>Shop</h1>';
    pass(500);
    document.querySelector('h1')?.remove();
    pass(5000);
    expect(told).toEqual(['emptied 2000']);
  });

  it('that had content when it was loaded is empty from when that was removed, and soon', () => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    pass(0); // it was parsed before
    page.start(window);
    pass(700);
    document.querySelector('h1')?.remove();
    pass(299);
    expect(told).toEqual([]);
    pass(1);
    expect(told).toEqual(['emptied 1700']);
  });

  it('is over when there is content again', () => {
    document.body.innerHTML = '<div id="root"><h1>Shop</h1></div>';
    page.start(window);
    pass(2000);
    document.querySelector('h1')?.remove();
    pass(1000);
    (document.getElementById('root') as Element).innerHTML = '<h1>Shop</h1>';
    pass(0);
    expect(told).toEqual(['emptied 3000', 'filled 4000']);
    expect(page.shown()).toEqual([]);
  });

  it('may never have shown anything', () => {
    document.body.innerHTML = '<div id="root"></div>';
    page.start(window);
    pass(1000);
    expect(told).toEqual(['emptied 1000']);
  });

  it('is not one that has no place for content', () => {
    document.body.innerHTML = '<script>let x</script>';
    page.start(window);
    pass(5000);
    expect(told).toEqual([]);
  });

  it('is not looked at while nothing is recorded', () => {
    document.body.innerHTML = '<div id="root"></div>';
    page.start(window);
    page.stop();
    pass(5000);
    expect(told).toEqual([]);
  });
});
