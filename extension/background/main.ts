/**
 * The service worker. It may be ended at any moment and begins anew with the next event: all listeners
 * are registered before anything is waited for, and what a new life must know is in storage.
 */
import { ChosenSource, type Way } from '../capture/chosen';
import { DebuggerSource } from '../capture/debugger';
import { QuietSource } from '../capture/quiet/quiet';
import { WebRequestWitness } from '../capture/webrequest';
import { SharedDebugger } from '../debugging/attachment';
import { Debugging } from '../debugging/debugging';
import { variableMethods } from '../debugging/variables';
import { CONTENT_PORT, POPUP_PORT, VIEWER_PORT } from '../messages';
import {
  type AnyEvent,
  HostName,
  MethodCheckpoint,
  MethodOverview,
  type Overview,
  type Tab,
} from '../protocol';
import { t } from '../text';
import { Acting } from './acting/acting';
import { Activity } from './acting/activity';
import { Sessions } from './acting/sessions';
import { followTroubles } from './aria/troubles';
import { answer, readPage } from './commands';
import { ContentFrames } from './frames';
import {
  type HookedPages,
  type InPage,
  injectHooks,
  injectWhereMissing,
  registerHooks,
  registerOrigin,
} from './inject';
import { hostTabs, popupTabs, type TabFacts } from './listing';
import { HostPort } from './port';
import { isDevelopment, isWatched, permissionFor, watchableOrigin, wayFor } from './rules';
import { Settings } from './settings';
import type { SourceMapParties } from './source-maps';
import { WatchedTabs } from './tabs';
import { BadgeKeeper } from './views/badge';
import { PopupServer } from './views/popup';
import { reveal } from './views/reveal';
import { isOwnPage } from './views/senders';
import { ViewerServer } from './views/viewer';

/** How often it is written down that the worker lives, and how often the browser wakes it, in ms. */
const HEARTBEAT_MS = 2000;
const TABS_MS = 100;
/** How often tabs are looked at for a navigation that was dropped, and how often in all. */
const REVIVE_MS = 700;
const REVIVE_LOOKS = 8;
/** How long a page may take to tell what its hooks hold, in ms. */
const FLUSH_MS = 1000;
/** How long a document's hooks may take to be heard of, in ms. */
const HOOKS_MS = 300;
const WAKE_MINUTES = 0.5;
const WAKE = 'wake';

const settings = new Settings(chrome.storage.local, chrome.storage.session);
const ready = settings.load();

/** Where no bar can be seen the debugger sees more; in a person's own browser a bar across it is a nuisance. */
const suits: Way = /Headless/.test(navigator.userAgent) ? 'debugger' : 'quiet';
const way = (tab: number, url: string | undefined): Way => wayFor(tab, url, settings, suits);
const witness = new WebRequestWitness(
  (tab, url) => isWatched(tab, url, settings) && way(tab, url) === 'debugger',
);
const attachments = new SharedDebugger(chrome.debugger);
const debuggers = new DebuggerSource(attachments, {
  emit,
  witness,
  targets: chrome.debugger,
  flush: (tab) => frames.flush(tab, FLUSH_MS),
});
const quiet = new QuietSource({
  emit,
  wanted: (tab, url) => isWatched(tab, url, settings) && way(tab, url) === 'quiet',
  flush: (tab) => frames.flush(tab, FLUSH_MS),
});
const source = new ChosenSource({ debugger: debuggers, quiet }, way);
const frames = new ContentFrames({
  emit,
  watched: (tab) => tabs.watched(tab),
  hooks: (tab) => source.way(tab) === 'quiet',
  hooked: (tab, _frame, from) => {
    if (source.way(tab) === 'quiet' && from !== undefined) quiet.late(tab, from);
  },
  page: (tab, frame, lists, dropped) =>
    (source.way(tab) === 'debugger' ? debuggers : quiet).page(tab, frame, lists, dropped),
  stale: (tab) => activity.stale(tab),
  gone: (tab, frame) => quiet.frameGone(tab, frame),
  changed,
});
const tabs = new WatchedTabs({ settings, source, emit, address, changed: tabChanged });
const watchedPage = async (tab: number): Promise<string | undefined> =>
  tabs.watched(tab) ? await address(tab) : undefined;
const maps: SourceMapParties = { page: watchedPage, fetch: (input, init) => fetch(input, init) };
const debugging = new Debugging(
  {
    api: attachments,
    page: watchedPage,
    request: (method, params) => port.request(method, params),
    changed: pausesChanged,
    remember: (memory) => void settings.rememberDebugging(memory),
  },
  variableMethods,
);
const activity = new Activity();
const sessions = new Sessions({
  api: attachments,
  changed: (tab) => activity.changed(tab),
  loadsDown: (tab, name) => activity.loadsDown(tab, name),
  answered: (tab, request) => activity.answered(tab, request),
});
const port = new HostPort({
  connect: () => chrome.runtime.connectNative(HostName),
  lastError: () => chrome.runtime.lastError?.message,
  hello: () => ({
    extension: chrome.runtime.getManifest().version,
    browser: browserName(),
    instance: settings.instance,
    session: settings.session,
  }),
  answer: (method, params) =>
    answer(
      { tabs, frames, source, port, maps, debugging, acting, activity, agents: () => popup.ask() },
      method,
      params,
    ),
  changed: () => {
    debugging.host(port.run);
    popup.changed();
    viewer.changed();
  },
});
const acting = new Acting({
  sessions,
  activity,
  source,
  frames,
  port,
  look: (params, patience) => readPage({ debugging, activity }, params, patience),
  watched: (tab) => tabs.watched(tab),
  paused: (tab) => debugging.paused(tab) !== undefined,
  address,
  allowed: (tab, url) => isWatched(tab, url, settings),
});
const popup = new PopupServer({
  connection: () => port.state,
  connect: () => void ready.then(() => port.connect()),
  tabs: async () => {
    await ready;
    const [all, facts] = await listed();
    return popupTabs(all, facts, await missingPermissions());
  },
  request: (method, params) => port.request(method, params),
  setWatched,
  setWay: setWayOf,
  paused: () => settings.paused,
  pause,
  resume: (tab) => debugging.resumeByPerson(tab),
});
const badge = new BadgeKeeper({
  connected: () => port.state.state === 'connected',
  paused: () => settings.paused,
  request: (method, params) => port.request(method, params),
  show: ({ text, colour, title }) => {
    void chrome.action.setBadgeText({ text });
    void chrome.action.setBadgeBackgroundColor({ color: colour });
    void chrome.action.setBadgeTextColor({ color: '#ffffff' });
    void chrome.action.setTitle({ title });
  },
});
const viewer = new ViewerServer({
  connection: () => port.state,
  connect: () => void ready.then(() => port.connect()),
  request: (method, params) => port.request(method, params),
  reveal,
});

function emit(event: AnyEvent): void {
  activity.saw(event);
  port.emit(event);
  badge.changed();
}

async function address(tab: number): Promise<string | undefined> {
  try {
    return (await chrome.tabs.get(tab)).url;
  } catch {
    return undefined;
  }
}

function browserName(): string {
  const brands = (navigator as { userAgentData?: { brands: { brand: string; version: string }[] } })
    .userAgentData?.brands;
  const brand = brands?.find(({ brand }) => !/not.a.brand|^chromium$/i.test(brand))?.brand ?? 'Chromium';
  const version = /Chrome\/([\d.]+)/.exec(navigator.userAgent)?.[1] ?? '';
  return `${brand} ${version}`.trim();
}

let tabsTimer: ReturnType<typeof setTimeout> | undefined;

/** Something in the list of tabs has changed: the host and the popup are told soon. */
function changed(): void {
  popup.changed();
  if (tabsTimer !== undefined) return;
  tabsTimer = setTimeout(() => {
    tabsTimer = undefined;
    void sendTabs();
  }, TABS_MS);
}

/** A page was paused, or goes on: who looks at it shall not wait in vain. */
function pausesChanged(): void {
  popup.changed();
  void sendTabs();
}

let told = '';

async function sendTabs(): Promise<void> {
  const list: Tab[] = hostTabs(...(await listed()));
  const text = JSON.stringify(list);
  if (text === told) return;
  told = text;
  port.tabs(list);
}

async function listed(): Promise<[chrome.tabs.Tab[], TabFacts]> {
  const [all, window] = await Promise.all([
    chrome.tabs.query({}),
    chrome.windows.getLastFocused().catch(() => undefined),
  ]);
  const facts: TabFacts = {
    choices: settings,
    capturing: (tab) => tabs.capturing(tab),
    dom: (tab) => frames.has(tab),
    note: (tab) => tabs.note(tab),
    paused: (tab) => debugging.paused(tab),
    pausedPart: (tab) => debugging.pausedPart(tab),
    way: (tab) => source.way(tab),
    wanted: way,
    window: window?.id,
  };
  return [all, facts];
}

async function missingPermissions(): Promise<Set<string>> {
  const origins = new Set<string>();
  for (const { url } of await chrome.tabs.query({})) {
    const origin = watchableOrigin(url);
    if (origin !== undefined) origins.add(permissionFor(origin));
  }
  const missing = new Set<string>();
  await Promise.all(
    [...origins].map(async (pattern) => {
      if (!(await chrome.permissions.contains({ origins: [pattern] }))) missing.add(pattern);
    }),
  );
  return missing;
}

/** Written down for the life after this one: at every change, and often enough to date its end. */
function remember(): void {
  void settings.remember(tabs.memory(Date.now()));
}

function tabChanged(tab: number): void {
  remember();
  frames.watch(tab);
  changed();
  if (!tabs.watched(tab)) return;
  injectWhereMissing(tab, frames, () => tabs.watched(tab));
  setTimeout(() => void hookWhereMissing(tab), HOOKS_MS);
}

/** What runs in the pages' own world, for each way of capture. */
const IN_PAGE = { quiet: 'page.js', debugger: 'witness.js' } as const satisfies Record<Way, InPage>;

/** Brings the hooks, or the witness, to documents that were there before them. */
async function hookWhereMissing(tab: number): Promise<void> {
  const chosen = source.way(tab);
  if (chosen !== undefined) await injectHooks(IN_PAGE[chosen], tab, frames.unhooked(tab, chosen));
}

/** Has the pages of each way of capture have its script from their first line on. */
async function registerPages(): Promise<void> {
  for (const each of ['quiet', 'debugger'] as const) await registerHooks(IN_PAGE[each], pagesOf(each));
}

/** The pages that are captured in a way, as far as that is known before they are opened. */
function pagesOf(each: Way): HookedPages {
  const matches = new Set((settings.way ?? suits) === each ? developmentPatterns() : []);
  const excludeMatches = new Set<string>();
  for (const [origin, on] of Object.entries(settings.origins)) {
    if (on && (settings.ways[origin] ?? settings.way ?? suits) === each) matches.add(`${origin}/*`);
  }
  for (const [origin, chosen] of Object.entries(settings.ways)) {
    if (chosen !== each) excludeMatches.add(`${origin}/*`);
    else if (isDevelopment(origin) || settings.origins[origin] === true) matches.add(`${origin}/*`);
  }
  return { matches: [...matches], excludeMatches: [...excludeMatches] };
}

/** The patterns of the manifest's own content script. */
function developmentPatterns(): string[] {
  return chrome.runtime.getManifest().content_scripts?.flatMap(({ matches }) => matches ?? []) ?? [];
}

/** Does what a person chose in the popup; see `set_watched` in messages.ts. */
async function setWatched(tab: number, on: boolean, scope: 'tab' | 'origin'): Promise<void> {
  await ready;
  const origin = watchableOrigin(await address(tab));
  if (origin === undefined) throw new Error(t('onlyWebPages'));
  const chosen = settings.origins[origin];
  const needsOrigin = on && (isDevelopment(origin) ? chosen === false : chosen !== true);
  if (scope === 'origin' || needsOrigin) {
    await settings.chooseOrigin(origin, on);
    if (!isDevelopment(origin)) await registerOrigin(origin, on);
  }
  if (scope === 'tab' || on) return tabs.choose(tab, on);
  const all = await chrome.tabs.query({});
  const same = all.filter(({ url }) => watchableOrigin(url) === origin);
  await Promise.all(same.map(({ id }) => (id === undefined ? undefined : tabs.refresh(id))));
}

/** Nothing is watched any more, or everything is again that was before. */
async function pause(paused: boolean): Promise<void> {
  await ready;
  await settings.choosePaused(paused);
  const all = await chrome.tabs.query({});
  await Promise.all(all.map(({ id }) => (id === undefined ? undefined : tabs.refresh(id))));
  badge.changed();
  changed();
}

/** Sets a checkpoint by the keyboard, with the first name of its kind that is free. */
async function checkpointByHand(): Promise<void> {
  const { checkpoints } = (await port.request(MethodOverview, {})) as Overview;
  const taken = new Set(checkpoints.map(({ name }) => name.split('@', 1)[0]));
  let n = 1;
  while (taken.has(`by_hand_${n}`)) n++;
  await port.request(MethodCheckpoint, { name: `by_hand_${n}` });
  badge.changed();
}

/** Has pages be captured in another way from now on: those of an origin, or all. */
async function setWay(chosen: Way, origin?: string): Promise<void> {
  await ready;
  await settings.chooseWay(chosen, origin);
  await registerPages();
  for (const { id, url } of await chrome.tabs.query({})) {
    if (id === undefined || (origin !== undefined && watchableOrigin(url) !== origin)) continue;
    await settings.chooseQuiet(id, false);
    if (source.way(id) === undefined || source.way(id) === way(id, url)) continue;
    await tabs.restart(id);
  }
}

/** Does what a person chose in the popup for the pages of a tab's origin. */
async function setWayOf(tab: number, chosen: Way): Promise<void> {
  const origin = watchableOrigin(await address(tab));
  if (origin === undefined) throw new Error(t('onlyWebPages'));
  await setWay(chosen, origin);
}

/** Who launches the browser speaks to the worker through the debugging pipe. */
Object.assign(globalThis, { setWay });

chrome.runtime.onConnect.addListener((connected) => {
  if (connected.name === CONTENT_PORT) void ready.then(() => frames.connect(connected));
  if (!isOwnPage(connected.sender, chrome.runtime)) return;
  if (connected.name === POPUP_PORT) popup.connect(connected);
  if (connected.name === VIEWER_PORT) viewer.connect(connected);
});

followTroubles();
chrome.debugger.onEvent.addListener((from, method, params) => {
  debugging.event(from, method, params); // first: its breakpoints are to be set before a target runs
  debuggers.event(from, method, params);
  sessions.event(from, method, params);
  if (method === 'Debugger.paused' && from.tabId !== undefined) activity.changed(from.tabId);
});
chrome.debugger.onDetach.addListener((from, reason) => {
  const { tabId } = from;
  if (tabId !== undefined) attachments.detached(tabId);
  debugging.detached(tabId, reason);
  debuggers.detached(from, reason);
  sessions.detached(tabId, reason);
});
debuggers.onEnd = (tab, reason) => void tabs.ended(tab, reason);

chrome.tabs.onCreated.addListener(changed);
chrome.tabs.onRemoved.addListener((tab) => {
  tabs.closed(tab);
  witness.forget(tab);
  sessions.closed(tab);
  activity.closed(tab);
  void ready.then(() => settings.chooseTab(tab, true)).then(() => settings.chooseQuiet(tab, false));
  changed();
});
chrome.tabs.onReplaced.addListener((by, tab) => void ready.then(() => tabs.replaced(tab, by)));
chrome.tabs.onUpdated.addListener((tab, { url }) => {
  // The commit of a page that can be watched, told earlier than webNavigation tells it.
  if (url !== undefined) void ready.then(() => tabs.heading(tab, url));
  changed();
});
chrome.tabs.onActivated.addListener(() => {
  changed();
  badge.changed();
});
chrome.windows.onFocusChanged.addListener(changed);

chrome.webNavigation.onBeforeNavigate.addListener(({ frameId, tabId }) => {
  if (frameId === 0) debugging.leaving(tabId);
});
chrome.webNavigation.onCommitted.addListener((details) => {
  const { frameId, tabId, url, documentLifecycle } = details;
  if (frameId !== 0 || documentLifecycle !== 'active') return;
  debugging.left(tabId, details.timeStamp);
  activity.navigates(tabId, 'commits');
  void ready.then(() => {
    quiet.committed(details);
    return tabs.shows(tabId, url);
  });
});
chrome.webNavigation.onBeforeNavigate.addListener(({ frameId, tabId, documentLifecycle }) => {
  if (frameId === 0 && documentLifecycle !== 'prerender') activity.navigates(tabId, 'begins');
});
chrome.webNavigation.onCompleted.addListener(({ frameId, tabId }) => {
  if (frameId === 0) activity.navigates(tabId, 'ends');
});
chrome.webNavigation.onErrorOccurred.addListener(({ frameId, tabId, error }) => {
  // A download, a 204 or another navigation ends one that was no failure.
  if (frameId === 0) activity.navigates(tabId, 'ends', error === 'net::ERR_ABORTED' ? '' : error);
});
for (const [moved, how] of [
  [chrome.webNavigation.onHistoryStateUpdated, 'history'],
  [chrome.webNavigation.onReferenceFragmentUpdated, 'hash'],
] as const) {
  moved.addListener((details) => {
    quiet.moved(how, details);
    if (details.frameId === 0) activity.navigates(details.tabId, 'moves');
  });
}
chrome.webNavigation.onCreatedNavigationTarget.addListener(({ sourceTabId, tabId }) =>
  activity.opens(sourceTabId, tabId),
);

const everything = { urls: ['<all_urls>', 'ws://*/*', 'wss://*/*'] };
chrome.webRequest.onBeforeRequest.addListener(
  (details): undefined => {
    witness.began(details);
    quiet.began(details);
    const { type, tabId, url } = details;
    if (type === 'main_frame') void ready.then(() => tabs.heading(tabId, url));
  },
  everything,
  ['requestBody'],
);
// Without "extraHeaders" the browser keeps cookies and credentials to itself.
chrome.webRequest.onSendHeaders.addListener((details) => quiet.step('sends', details), everything, [
  'requestHeaders',
]);
chrome.webRequest.onResponseStarted.addListener((details) => quiet.step('responded', details), everything, [
  'responseHeaders',
]);
chrome.webRequest.onBeforeRedirect.addListener(
  (details) => {
    witness.redirected(details);
    quiet.step('redirected', details);
  },
  everything,
  ['responseHeaders'],
);
chrome.webRequest.onCompleted.addListener((details) => {
  witness.ended(details);
  quiet.step('ended', details);
}, everything);
chrome.webRequest.onErrorOccurred.addListener((details) => {
  witness.ended(details);
  quiet.step('ended', details);
}, everything);

chrome.commands.onCommand.addListener((command) => {
  if (command === 'pause') void ready.then(() => pause(!settings.paused));
  if (command === 'checkpoint') {
    ready.then(checkpointByHand).catch(() => {
      // There is no page to say it on; the badge and the popup tell that Tidemark cannot be reached.
      badge.changed();
    });
  }
});

chrome.permissions.onAdded.addListener(changed);
chrome.permissions.onRemoved.addListener(changed);
chrome.runtime.onInstalled.addListener(() => undefined);
chrome.runtime.onStartup.addListener(() => undefined);
chrome.alarms.onAlarm.addListener(({ name }) => {
  if (name === WAKE) void ready.then(() => port.connect());
});

async function begin(): Promise<void> {
  await ready;
  port.connect();
  await registerPages();
  tabs.resume(settings.before);
  const all = await chrome.tabs.query({});
  await Promise.all(all.map(({ id, url }) => (id === undefined || !url ? undefined : tabs.shows(id, url))));
  await debugging.restore(settings.debuggedBefore);
  void revive();
  changed();
  setInterval(() => {
    remember();
    badge.tick();
  }, HEARTBEAT_MS);
  await chrome.alarms.create(WAKE, { periodInMinutes: WAKE_MINUTES });
}

/**
 * Chromium 156 may drop the first navigation of a tab when an extension that may use webRequest is
 * loaded at that moment, as `--load-extension` does: the tab stays blank, with an address to go to,
 * and does not load. Because it is this extension's doing, it is mended here. Nothing tells when it
 * happens, so the tabs are looked at a few times.
 */
async function revive(): Promise<void> {
  for (let look = 0; look < REVIVE_LOOKS; look++) {
    for (const { id, url, pendingUrl, status } of await chrome.tabs.query({})) {
      const isDropped = !url && pendingUrl !== undefined && status === 'complete';
      if (isDropped && id !== undefined && watchableOrigin(pendingUrl) !== undefined) {
        await chrome.tabs.update(id, { url: pendingUrl }).catch(() => undefined);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, REVIVE_MS));
  }
}

void begin();
