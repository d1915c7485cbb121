import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { POPUP_PORT } from '../messages';
import type { AnyEvent, Events, Hello, Tabs } from '../protocol';
import { checkMessage } from '../protocol-check';
import { FakeBrowser, type FakePort, ID, ROOT } from './testing/browser';
import { createWorker, type Worker } from './worker';

const NAMES = {
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36',
  userAgentData: {
    brands: [
      { brand: 'Not.A/Brand', version: '8' },
      { brand: 'Chromium', version: '156' },
      { brand: 'Google Chrome', version: '156' },
    ],
  },
};

let browser: FakeBrowser;

beforeEach(() => {
  vi.useFakeTimers();
  browser = new FakeBrowser();
  vi.stubGlobal('chrome', browser.chrome);
});
afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Lets the worker do what is due in some milliseconds. */
const pass = (ms = 300): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

async function start(): Promise<Worker> {
  const worker = createWorker(browser.chrome, NAMES);
  await pass();
  await worker.begun;
  return worker;
}

/** The native port that is open. */
function host(): FakePort {
  const port = browser.natives.at(-1);
  if (port === undefined) throw new Error('the worker has not connected');
  return port;
}

async function welcome(): Promise<void> {
  host().onMessage.fire({ type: 'welcome', protocol: 1, host: '0.1.0', next: 1, run: 'run' });
  await pass();
}

const of = <T>(port: FakePort, type: string): T[] =>
  port.got.filter((message) => message.type === type) as unknown as T[];
const tabs = (port = host()): Tabs['tabs'] | undefined => of<Tabs>(port, 'tabs').at(-1)?.tabs;
const events = (port = host()): AnyEvent[] =>
  of<Events>(port, 'events').flatMap(({ events }) => events as AnyEvent[]);
const gaps = (): [reason: string, ended: boolean][] =>
  events().flatMap((event) => (event.kind === 'gap' ? [[event.reason, event.to > 0]] : []));

function popup(): (message: object) => Promise<void> {
  const port = browser.connect(POPUP_PORT, {
    id: ID,
    url: `${ROOT}popup/index.html`,
    origin: ROOT.slice(0, -1),
  });
  let asked = 0;
  return async (message) => {
    const id = ++asked;
    port.onMessage.fire({ ...message, id });
    await pass();
    const done = port.got.find((answer) => answer.t === 'done' && answer.id === id);
    expect(done).toEqual({ t: 'done', id });
  };
}

test('every listener is registered before the storage has answered', () => {
  createWorker(browser.chrome, NAMES);
  expect(browser.unheard()).toEqual([]);
  expect(browser.natives).toEqual([]);
});

test('a worker that starts says who it is, registers its scripts and lists the tabs', async () => {
  browser.list.push(
    { id: 1, url: 'http://localhost:3000/cart?token=1', title: 'Cart', active: true, windowId: 1 },
    { id: 2, url: 'https://bank.example/account', title: 'Account', active: false, windowId: 1 },
    { id: 3, url: 'chrome://settings/', title: 'Settings', active: false, windowId: 1 },
  );
  await start();
  const [hello] = of<Hello>(host(), 'hello');
  expect(hello).toMatchObject({ extension: '1.2.3', browser: 'Google Chrome 156.0.0.0', first: 1 });
  expect(hello?.instance).toBe(browser.storage.local.items.instance);
  expect(browser.registered.get('hooks')).toMatchObject({ matches: ['http://localhost/*'], js: ['page.js'] });
  expect(browser.registered.has('witness')).toBe(false);
  expect(browser.alarmsMade).toEqual(['wake']);
  await welcome();
  expect(tabs()).toEqual([
    expect.objectContaining({ id: 1, title: 'Cart', watched: true, capture: 'quiet', active: true }),
    { id: 2, url: 'https://bank.example/', title: '', watched: false },
  ]);
  for (const message of host().got) expect(checkMessage(message)).toBeUndefined();
});

test('a tab is watched from its first request on, while it shows such a page, and until it is closed', async () => {
  await start();
  await welcome();
  browser.open(5);
  browser.navigate(5, 'http://localhost:3000/');
  await pass();
  expect(tabs()).toMatchObject([{ id: 5, url: 'http://localhost:3000/', watched: true }]);
  expect(events()).toMatchObject([
    { kind: 'request', tab: 5, method: 'GET', url: 'http://localhost:3000/' },
    { kind: 'navigation', tab: 5, how: 'load', url: 'http://localhost:3000/' },
  ]);
  browser.navigate(5, 'https://bank.example/account');
  await pass();
  expect(tabs()).toEqual([{ id: 5, url: 'https://bank.example/', title: '', watched: false, active: true }]);
  browser.navigate(5, 'http://localhost:3000/again');
  await pass();
  expect(tabs()).toMatchObject([{ id: 5, watched: true }]);
  browser.close(5);
  await pass();
  expect(tabs()).toEqual([]);
  expect(browser.debugged).toEqual([]);
});

test('an address within a page is a navigation of its own', async () => {
  await start();
  await welcome();
  browser.open(5);
  browser.navigate(5, 'http://localhost:3000/');
  await pass();
  const moved = { tabId: 5, frameId: 0, url: 'http://localhost:3000/cart' };
  browser.webNavigation.onHistoryStateUpdated.fire(moved);
  browser.webNavigation.onReferenceFragmentUpdated.fire({ ...moved, url: `${moved.url}#top` });
  await pass();
  const navigations = events().flatMap((event) => (event.kind === 'navigation' ? [event.how] : []));
  expect(navigations).toEqual(['load', 'history', 'hash']);
});

test("the browser's error page is shown under the address that failed, a navigation without a page shows nothing", async () => {
  await start();
  await welcome();
  browser.open(5);
  browser.navigate(5, 'http://localhost:3000/');
  await pass();
  const frame = { tabId: 5, frameId: 0, documentLifecycle: 'active', timeStamp: Date.now() };
  const fails = (path: string, error: string, more = {}): void =>
    browser.webNavigation.onErrorOccurred.fire({
      ...frame,
      url: `http://localhost:3000${path}`,
      error,
      ...more,
    });
  fails('/download', 'net::ERR_ABORTED');
  fails('/frame', 'net::ERR_FAILED', { frameId: 3 });
  fails('/prerendered', 'net::ERR_FAILED', { documentLifecycle: 'prerender' });
  fails('/dead', 'net::ERR_EMPTY_RESPONSE');
  await pass();
  const navigations = events().flatMap((event) => (event.kind === 'navigation' ? [event.url] : []));
  expect(navigations).toEqual(['http://localhost:3000/', 'http://localhost:3000/dead']);
});

test('an origin is switched on and off in the popup, and is kept', async () => {
  browser.list.push({ id: 2, url: 'https://shop.example/', title: 'Shop', active: true, windowId: 1 });
  await start();
  await welcome();
  expect(tabs()).toMatchObject([{ id: 2, watched: false }]);
  const ask = popup();
  await ask({ t: 'set_watched', tab: 2, on: true, scope: 'origin' });
  expect(tabs()).toMatchObject([{ id: 2, watched: true }]);
  expect(browser.storage.local.items.origins).toEqual({ 'https://shop.example': true });
  expect(browser.registered.get('origin https://shop.example/*')).toMatchObject({ js: ['content.js'] });
  await ask({ t: 'set_watched', tab: 2, on: false, scope: 'origin' });
  expect(tabs()).toMatchObject([{ id: 2, watched: false }]);
  expect(browser.storage.local.items.origins).toEqual({ 'https://shop.example': false });
  expect(browser.registered.has('origin https://shop.example/*')).toBe(false);
  expect(gaps()).toEqual([['detached', false]]);
});

test('a tab that is switched off is watched again when it is switched on', async () => {
  browser.list.push({ id: 1, url: 'http://localhost:3000/', active: true, windowId: 1 });
  await start();
  await welcome();
  const ask = popup();
  await ask({ t: 'set_watched', tab: 1, on: false, scope: 'tab' });
  expect(tabs()).toMatchObject([{ id: 1, watched: false }]);
  await ask({ t: 'set_watched', tab: 1, on: true, scope: 'tab' });
  expect(tabs()).toMatchObject([{ id: 1, watched: true }]);
  expect(gaps()).toEqual([
    ['detached', false],
    ['detached', true],
  ]);
});

test("a page that is not the extension's own is given no popup", async () => {
  await start();
  const port = browser.connect(POPUP_PORT, { id: ID, url: 'http://localhost/', origin: 'http://localhost' });
  await pass();
  expect(port.got).toEqual([]);
  expect(port.onMessage.listeners.size).toBe(0);
});

test('the keyboard pauses watching everywhere, and resumes it', async () => {
  browser.list.push({ id: 1, url: 'http://localhost:3000/', active: true, windowId: 1 });
  await start();
  await welcome();
  browser.commands.onCommand.fire('pause');
  await pass();
  expect(tabs()).toMatchObject([{ id: 1, watched: false, url: 'http://localhost:3000/' }]);
  browser.commands.onCommand.fire('pause');
  await pass();
  expect(tabs()).toMatchObject([{ id: 1, watched: true }]);
  expect(gaps()).toEqual([
    ['paused', false],
    ['paused', true],
  ]);
});

test('the keyboard sets a checkpoint by the first name that is free', async () => {
  await start();
  await welcome();
  browser.commands.onCommand.fire('checkpoint');
  await pass(0);
  const answer = (result: object): void => {
    const { id } = host().got.findLast(({ type }) => type === 'request') as { id?: number };
    host().onMessage.fire({ type: 'response', id, result });
  };
  answer({ checkpoints: [{ name: 'by_hand_1@claude' }, { name: 'by_hand_3' }] });
  await pass(0);
  expect(of(host(), 'request').at(-1)).toMatchObject({ method: 'checkpoint', params: { name: 'by_hand_2' } });
});

test('what happens while the host is away is sent when it is back', async () => {
  browser.list.push({ id: 1, url: 'http://localhost:3000/', active: true, windowId: 1 });
  await start();
  await welcome();
  const before = host();
  browser.runtime.lastError = { message: 'Native host has exited.' };
  before.break();
  browser.navigate(1, 'http://localhost:3000/away');
  await pass(10_000);
  expect(host()).not.toBe(before);
  expect(of<Hello>(host(), 'hello')).toHaveLength(1);
  expect(events()).toEqual([]);
  await welcome();
  expect(events().map(({ kind }) => kind)).toEqual(['request', 'navigation']);
  expect(tabs()).toMatchObject([{ id: 1, url: 'http://localhost:3000/away', watched: true }]);
});

test('the alarm connects at once where the next attempt is far', async () => {
  await start();
  for (let n = 0; n < 8; n++) {
    host().break();
    await pass(10_000);
  }
  const opened = browser.natives.length;
  host().break();
  await pass(100);
  expect(browser.natives).toHaveLength(opened);
  browser.alarms.onAlarm.fire({ name: 'wake' });
  await pass(0);
  expect(browser.natives).toHaveLength(opened + 1);
});

test('a worker that was ended says what it may have missed, and goes by what was chosen', async () => {
  browser.list.push(
    { id: 1, url: 'http://localhost:3000/', active: true, windowId: 1 },
    { id: 2, url: 'http://localhost:4000/', active: false, windowId: 1 },
  );
  await start();
  await welcome();
  await popup()({ t: 'set_watched', tab: 2, on: false, scope: 'tab' });
  await pass(3000);
  const { stream } = of<Hello>(host(), 'hello')[0] ?? {};
  browser.endWorker();
  vi.clearAllTimers();
  await start();
  await welcome();
  expect(of<Hello>(host(), 'hello')[0]?.stream).not.toBe(stream);
  expect(tabs()).toMatchObject([
    { id: 1, watched: true },
    { id: 2, watched: false },
  ]);
  expect(gaps()).toContainEqual(['worker_restart', true]);
});

test('pages are captured by the debugger when that is chosen, and quietly once a user closes its bar', async () => {
  browser.list.push({ id: 1, url: 'http://localhost:3000/', active: true, windowId: 1 });
  const { setWay } = await start();
  await welcome();
  expect(browser.debugged).toEqual([]);
  const set = setWay('debugger');
  await pass(20_000);
  await set;
  expect(browser.debugged[0]).toBe('attach 1');
  expect(browser.debugged).toContain('Network.enable');
  expect(browser.registered.has('hooks')).toBe(false);
  expect(browser.registered.get('witness')).toMatchObject({ js: ['witness.js'] });
  expect(tabs()).toMatchObject([{ id: 1, capture: 'debugger' }]);
  browser.debugger.onDetach.fire({ tabId: 1 }, 'canceled_by_user');
  await pass();
  expect(tabs()).toMatchObject([{ id: 1, watched: true, capture: 'quiet' }]);
  expect(browser.storage.session.items.tabsQuiet).toEqual([1]);
});

test('a blank tab is captured before the page that it is expected to show', async () => {
  browser.list.push({ id: 1, url: 'about:blank', active: true, windowId: 1 });
  const { setWay, expectPage } = await start();
  await setWay('debugger');
  browser.debugger.getTargets = async () => [{ id: 'T1', tabId: 1 }];
  await expectPage('T2', 'http://localhost:3000/');
  expect(browser.debugged).toEqual([]);
  const expected = expectPage('T1', 'http://localhost:3000/');
  await pass(20_000);
  await expected;
  expect(browser.debugged[0]).toBe('attach 1');
});

test('a tab whose first navigation was dropped is loaded again, and no other one', async () => {
  browser.list.push(
    { id: 1, url: '', pendingUrl: 'http://localhost/', status: 'complete', active: true, windowId: 1 },
    { id: 2, url: '', pendingUrl: 'http://localhost/', status: 'loading', active: false, windowId: 1 },
    { id: 3, url: '', pendingUrl: 'chrome://newtab/', status: 'complete', active: false, windowId: 1 },
  );
  await start();
  expect(browser.list.map(({ url }) => url)).toEqual(['http://localhost/', '', '']);
});
