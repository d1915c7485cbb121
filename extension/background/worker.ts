/** Builds the worker over a browser: its parts, and who reports what to whom. */
import { ChosenSource, type Way } from '../capture/chosen';
import { DebuggerSource } from '../capture/debugger';
import { QuietSource } from '../capture/quiet/quiet';
import { WebRequestWitness } from '../capture/webrequest';
import { SharedDebugger } from '../debugging/attachment';
import { Debugging } from '../debugging/debugging';
import { variableMethods } from '../debugging/variables';
import { type AnyEvent, HostName } from '../protocol';
import { Acting } from './acting/acting';
import { Activity } from './acting/activity';
import { Sessions } from './acting/sessions';
import { answer, readPage } from './commands';
import { ContentFrames } from './frames';
import { listen, WAKE } from './listeners';
import { HostPort } from './port';
import { revive } from './revive';
import { isWatched } from './rules';
import { Settings } from './settings';
import { documentLoads, ScriptResponses, type SourceMapParties } from './source-maps';
import { TabList } from './tab-list';
import { WatchedTabs } from './tabs';
import { BadgeKeeper } from './views/badge';
import { PopupServer } from './views/popup';
import { reveal } from './views/reveal';
import { ViewerServer } from './views/viewer';
import { Watching } from './watching';

/** How often it is written down that the worker lives, in ms. */
const HEARTBEAT_MS = 2000;
/** How often the browser wakes the worker, in minutes. */
const WAKE_MINUTES = 0.5;
/** How long a page may take to send what its hooks keep, in ms. */
const FLUSH_MS = 1000;

/** What others may ask of a worker that runs. */
export interface Worker {
  /** Has pages be captured in another way from now on: those of an origin, or all. */
  setWay(way: Way, origin?: string): Promise<void>;
  /** Begins to capture a blank tab, named by its debugging target, before it is sent to an address. */
  expectPage(target: string, url: string): Promise<void>;
  /** Resolves when the worker has taken over what an earlier life left, and captures. */
  readonly begun: Promise<void>;
}

/** The browser as it names itself; `navigator` in the worker. */
export interface BrowserNames {
  readonly userAgent: string;
  readonly userAgentData?: { brands: { brand: string; version: string }[] };
}

/**
 * Builds the worker over `browser`, registers its listeners before anything is waited for, and starts it. Scripts
 * are put into pages, and tabs acted on, through the global `chrome`, which must be the same.
 */
export function createWorker(browser: typeof chrome, names: BrowserNames): Worker {
  const { userAgent } = names;
  const settings = new Settings(browser.storage.local, browser.storage.session);
  const ready = settings.load();

  // Where no bar can be seen the debugger sees more; in a user's own browser a bar across it is a nuisance.
  const suits: Way = /Headless/.test(userAgent) ? 'debugger' : 'quiet';
  const witness = new WebRequestWitness((tab, url) => watching.wanted(tab, url, 'debugger'));
  const attachments = new SharedDebugger(browser.debugger);
  const debuggers = new DebuggerSource(attachments, {
    emit,
    witness,
    targets: browser.debugger,
    flush: (tab) => frames.flush(tab, FLUSH_MS),
  });
  const quiet = new QuietSource({
    emit,
    wanted: (tab, url) => watching.wanted(tab, url, 'quiet'),
    flush: (tab) => frames.flush(tab, FLUSH_MS),
  });
  const source = new ChosenSource({ debugger: debuggers, quiet }, (tab, url) => watching.wayFor(tab, url));
  const frames = new ContentFrames({
    emit,
    watched: (tab) => tabs.watched(tab),
    hooks: (tab) => source.way(tab) === 'quiet',
    hooked: (tab, _frame, from) => {
      if (source.way(tab) === 'quiet' && from !== undefined) quiet.late(tab, from);
    },
    page: (tab, frame, document, lists, dropped) => {
      if (source.way(tab) === 'debugger') debuggers.page(tab, frame, lists, dropped);
      else quiet.page(tab, frame, document, lists, dropped);
    },
    stale: (tab) => activity.stale(tab),
    gone: (tab, frame) => quiet.frameGone(tab, frame),
    changed,
  });
  const tabs = new WatchedTabs({ settings, source, emit, address, changed: tabChanged });
  const watchedPage = async (tab: number): Promise<string | undefined> =>
    tabs.watched(tab) ? await address(tab) : undefined;
  const scripts = new ScriptResponses((tab, page) => isWatched(tab, page, settings));
  const maps: SourceMapParties = {
    page: watchedPage,
    documents: documentLoads,
    responses: (tab, url) => scripts.of(tab, url),
    debugged: (tab, url) => debugging.lengths(tab, url),
    fetch: (input, init) => fetch(input, init),
  };
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
    downloads: (tab, name, url) => activity.downloads(tab, name, url),
    hide: (tab, text) => frames.hide(tab, text),
    answered: (tab, request) => activity.answered(tab, request),
  });
  const port = new HostPort({
    connect: () => browser.runtime.connectNative(HostName),
    lastError: () => browser.runtime.lastError?.message,
    hello: () => ({
      extension: browser.runtime.getManifest().version,
      browser: browserName(names),
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
    attached: (tab) => attachments.attached(tab),
    paused: (tab) => debugging.paused(tab) !== undefined,
    address,
    allowed: (tab, url) => isWatched(tab, url, settings),
  });
  const popup = new PopupServer({
    connection: () => port.state,
    connect: () => void ready.then(() => port.connect()),
    tabs: async () => {
      await ready;
      return await list.popup();
    },
    request: port.ask,
    setWatched: (tab, on, scope) => watching.setWatched(tab, on, scope),
    setWay: (tab, chosen) => watching.setWayOf(tab, chosen),
    paused: () => settings.paused,
    pause: (paused) => watching.pause(paused),
    resume: (tab) => debugging.resumeByPerson(tab),
  });
  const badge = new BadgeKeeper({
    connected: () => port.state.state === 'connected',
    paused: () => settings.paused,
    request: port.ask,
    show: ({ text, colour, title }) => {
      void browser.action.setBadgeText({ text });
      void browser.action.setBadgeBackgroundColor({ color: colour });
      void browser.action.setBadgeTextColor({ color: '#ffffff' });
      void browser.action.setTitle({ title });
    },
  });
  const viewer = new ViewerServer({
    connection: () => port.state,
    connect: () => void ready.then(() => port.connect()),
    request: (method, params) => port.request(method, params),
    reveal,
  });
  const watching = new Watching({
    browser,
    settings,
    ready,
    tabs,
    frames,
    way: (tab) => source.way(tab),
    suits,
    paused: () => {
      badge.changed();
      changed();
    },
  });
  const list = new TabList({
    browser,
    facts: {
      choices: settings,
      capturing: (tab) => tabs.capturing(tab),
      dom: (tab) => frames.has(tab),
      note: (tab) => tabs.note(tab),
      paused: (tab) => debugging.paused(tab),
      pausedPart: (tab) => debugging.pausedPart(tab),
      title: (tab, title) => frames.title(tab, title),
      way: (tab) => source.way(tab),
      wanted: (tab, url) => watching.wayFor(tab, url),
    },
    send: (tabs) => port.tabs(tabs),
  });

  function emit(event: AnyEvent): void {
    activity.saw(event);
    frames.saw(event);
    port.emit(event);
    badge.changed();
  }

  function address(tab: number): Promise<string | undefined> {
    return watching.address(tab);
  }

  /** Something in the list of tabs has changed: the host and the popup are sent it soon. */
  function changed(): void {
    popup.changed();
    list.changed();
  }

  /** A page was paused or resumed, so waits for it end. */
  function pausesChanged(tab: number): void {
    activity.changed(tab); // a step that waits for the page ends at a pause
    popup.changed();
    void list.send();
  }

  /** Written down for the life after this one: at every change, and often enough to date its end. */
  function remember(): void {
    void settings.remember(tabs.memory(Date.now()));
  }

  function tabChanged(tab: number): void {
    remember();
    frames.watch(tab);
    changed();
    watching.bringScripts(tab);
  }

  async function begin(): Promise<void> {
    await ready;
    port.connect();
    await watching.registerPages();
    tabs.resume(settings.before);
    const all = await browser.tabs.query({});
    await Promise.all(all.map(({ id, url }) => (id === undefined || !url ? undefined : tabs.shows(id, url))));
    await debugging.restore(settings.debuggedBefore);
    void revive(browser.tabs);
    changed();
    setInterval(() => {
      remember();
      badge.tick();
    }, HEARTBEAT_MS);
    await browser.alarms.create(WAKE, { periodInMinutes: WAKE_MINUTES });
  }

  listen(browser, {
    settings,
    ready,
    witness,
    attachments,
    debuggers,
    quiet,
    scripts,
    frames,
    tabs,
    debugging,
    activity,
    sessions,
    port,
    popup,
    badge,
    viewer,
    watching,
    changed,
  });
  const begun = begin();
  return {
    setWay: (chosen, origin) => watching.setWay(chosen, origin),
    expectPage: async (target, url) => {
      await begun;
      const page = (await browser.debugger.getTargets()).find(({ id }) => id === target);
      if (page?.tabId !== undefined) await tabs.expect(page.tabId, url);
    },
    begun,
  };
}

function browserName({ userAgent, userAgentData }: BrowserNames): string {
  const brand =
    userAgentData?.brands.find(({ brand }) => !/not.a.brand|^chromium$/i.test(brand))?.brand ?? 'Chromium';
  const version = /Chrome\/([\d.]+)/.exec(userAgent)?.[1] ?? '';
  return `${brand} ${version}`.trim();
}
