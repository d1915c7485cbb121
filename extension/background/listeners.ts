/** Registers the worker's listeners; all of them before anything is waited for, or the browser would not wake it. */
import type { DebuggerSource } from '../capture/debugger';
import type { Committed, QuietSource } from '../capture/quiet/quiet';
import type { WebRequestWitness } from '../capture/webrequest';
import type { SharedDebugger } from '../debugging/attachment';
import type { Debugging } from '../debugging/debugging';
import { CONTENT_PORT, POPUP_PORT, VIEWER_PORT } from '../messages';
import type { Activity } from './acting/activity';
import type { Sessions } from './acting/sessions';
import { followTroubles } from './aria/troubles';
import type { ContentFrames } from './frames';
import type { HostPort } from './port';
import type { Settings } from './settings';
import type { ScriptResponses } from './source-maps';
import type { WatchedTabs } from './tabs';
import type { BadgeKeeper } from './views/badge';
import type { PopupServer } from './views/popup';
import { isOwnPage } from './views/senders';
import type { ViewerServer } from './views/viewer';
import type { Watching } from './watching';

/** The alarm by which the browser wakes the worker. */
export const WAKE = 'wake';

/** The parts of the worker that the browser's events reach. */
export interface WorkerParts {
  readonly settings: Settings;
  /** Resolves when the settings are loaded. */
  readonly ready: Promise<void>;
  readonly witness: WebRequestWitness;
  readonly attachments: SharedDebugger;
  readonly debuggers: DebuggerSource;
  readonly quiet: QuietSource;
  readonly scripts: ScriptResponses;
  readonly frames: ContentFrames;
  readonly tabs: WatchedTabs;
  readonly debugging: Debugging;
  readonly activity: Activity;
  readonly sessions: Sessions;
  readonly port: HostPort;
  readonly popup: PopupServer;
  readonly badge: BadgeKeeper;
  readonly viewer: ViewerServer;
  readonly watching: Watching;
  /** Something in the list of tabs has changed. */
  changed(): void;
}

/** Registers every listener. */
export function listen(browser: typeof chrome, parts: WorkerParts): void {
  onConnections(browser, parts);
  onDebugger(browser, parts);
  onTabs(browser, parts);
  onNavigation(browser, parts);
  onRequests(browser, parts);
  onOwn(browser, parts);
}

/** Content scripts, the popup and the viewer connect. */
function onConnections(browser: typeof chrome, { frames, popup, ready, viewer }: WorkerParts): void {
  browser.runtime.onConnect.addListener((connected) => {
    if (connected.name === CONTENT_PORT) void ready.then(() => frames.connect(connected));
    if (!isOwnPage(connected.sender, browser.runtime)) return;
    if (connected.name === POPUP_PORT) popup.connect(connected);
    if (connected.name === VIEWER_PORT) viewer.connect(connected);
  });
}

/** What the debugger reports. */
function onDebugger(
  browser: typeof chrome,
  { attachments, debuggers, debugging, sessions, tabs }: WorkerParts,
): void {
  browser.debugger.onEvent.addListener((from, method, params) => {
    debugging.event(from, method, params); // first: its breakpoints are to be set before a target runs
    debuggers.event(from, method, params);
    sessions.event(from, method, params);
  });
  followTroubles((tab) => sessions.shown(tab));
  browser.debugger.onDetach.addListener((from, reason) => {
    const { tabId } = from;
    if (tabId !== undefined) attachments.detached(tabId);
    debugging.detached(tabId, reason);
    debuggers.detached(from, reason);
    sessions.detached(tabId, reason);
  });
  debuggers.onEnd = (tab, reason) => void tabs.ended(tab, reason);
}

/** Tabs and windows come, change and go. */
function onTabs(
  browser: typeof chrome,
  { activity, badge, changed, ready, sessions, settings, tabs, witness }: WorkerParts,
): void {
  browser.tabs.onCreated.addListener(changed);
  browser.tabs.onRemoved.addListener((tab) => {
    tabs.closed(tab);
    witness.forget(tab);
    sessions.closed(tab);
    activity.closed(tab);
    void ready.then(() => settings.chooseTab(tab, true)).then(() => settings.chooseQuiet(tab, false));
    changed();
  });
  browser.tabs.onReplaced.addListener((by, tab) => void ready.then(() => tabs.replaced(tab, by)));
  browser.tabs.onUpdated.addListener((tab, { url }) => {
    // The commit of a page that can be watched, reported earlier than by webNavigation.
    if (url !== undefined) void ready.then(() => tabs.heading(tab, url));
    changed();
  });
  browser.tabs.onActivated.addListener(() => {
    changed();
    badge.changed();
  });
  browser.windows.onFocusChanged.addListener(changed);
}

/** Documents are left and shown. */
function onNavigation(
  browser: typeof chrome,
  { activity, debugging, quiet, ready, tabs }: WorkerParts,
): void {
  browser.webNavigation.onBeforeNavigate.addListener(({ frameId, tabId }) => {
    if (frameId === 0) debugging.leaving(tabId);
  });
  const shown = (details: Committed): void => {
    void ready.then(() => {
      quiet.committed(details);
      return tabs.shows(details.tabId, details.url);
    });
  };
  browser.webNavigation.onCommitted.addListener((details) => {
    const { frameId, tabId, documentLifecycle } = details;
    if (frameId !== 0 || documentLifecycle !== 'active') return;
    debugging.left(tabId, details.timeStamp);
    activity.navigates(tabId, 'commits');
    shown(details);
  });
  browser.webNavigation.onBeforeNavigate.addListener(({ frameId, tabId, documentLifecycle }) => {
    if (frameId === 0 && documentLifecycle !== 'prerender') activity.navigates(tabId, 'begins');
  });
  browser.webNavigation.onDOMContentLoaded.addListener(({ frameId, tabId, documentLifecycle }) => {
    if (frameId === 0 && documentLifecycle === 'active') activity.parsed(tabId);
  });
  browser.webNavigation.onCompleted.addListener(({ frameId, tabId }) => {
    if (frameId === 0) activity.navigates(tabId, 'ends');
  });
  browser.webNavigation.onErrorOccurred.addListener((details) => {
    const { frameId, tabId, error, documentLifecycle } = details;
    if (frameId !== 0) return;
    // A download, a 204 or another navigation ends one that was no failure.
    const failed = error !== 'net::ERR_ABORTED';
    activity.navigates(tabId, 'ends', failed ? error : '');
    // The browser's error page is not reported as committed.
    if (failed && documentLifecycle !== 'prerender') shown(details);
  });
  for (const [moved, how] of [
    [browser.webNavigation.onHistoryStateUpdated, 'history'],
    [browser.webNavigation.onReferenceFragmentUpdated, 'hash'],
  ] as const) {
    moved.addListener((details) => {
      quiet.moved(how, details);
      if (details.frameId === 0) activity.navigates(details.tabId, 'moves');
    });
  }
  browser.webNavigation.onCreatedNavigationTarget.addListener(({ sourceTabId, tabId }) =>
    activity.opens(sourceTabId, tabId),
  );
}

/** The requests of all pages. */
function onRequests(browser: typeof chrome, { quiet, ready, scripts, tabs, witness }: WorkerParts): void {
  const everything = { urls: ['<all_urls>', 'ws://*/*', 'wss://*/*'] };
  browser.webRequest.onBeforeRequest.addListener(
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
  browser.webRequest.onSendHeaders.addListener((details) => quiet.step('sends', details), everything, [
    'requestHeaders',
  ]);
  browser.webRequest.onResponseStarted.addListener(
    (details) => {
      scripts.responded(details);
      quiet.step('responded', details);
    },
    everything,
    ['responseHeaders'],
  );
  browser.webRequest.onBeforeRedirect.addListener(
    (details) => {
      witness.redirected(details);
      quiet.step('redirected', details);
    },
    everything,
    ['responseHeaders'],
  );
  browser.webRequest.onCompleted.addListener((details) => {
    witness.completed(details);
    quiet.step('ended', details);
  }, everything);
  browser.webRequest.onErrorOccurred.addListener((details) => {
    witness.ended(details);
    quiet.step('ended', details);
  }, everything);
}

/** Keyboard commands, permissions, and what wakes the worker. */
function onOwn(
  browser: typeof chrome,
  { badge, changed, port, ready, settings, watching }: WorkerParts,
): void {
  browser.commands.onCommand.addListener((command) => {
    if (command === 'pause') void ready.then(() => watching.pause(!settings.paused));
    if (command === 'checkpoint') {
      // There is no page to report a failure on; the badge and the popup show that Tidemark cannot be reached.
      const shown = (): void => badge.changed();
      void ready.then(() => checkpointByHand(port)).then(shown, shown);
    }
  });

  browser.permissions.onAdded.addListener(changed);
  browser.permissions.onRemoved.addListener(changed);
  browser.runtime.onInstalled.addListener(() => undefined);
  browser.runtime.onStartup.addListener(() => undefined);
  browser.alarms.onAlarm.addListener(({ name }) => {
    if (name === WAKE) void ready.then(() => port.connect());
  });
}

/** Sets a checkpoint by the keyboard, with the first name of its kind that is free. */
async function checkpointByHand(port: HostPort): Promise<void> {
  const { checkpoints } = await port.ask('overview', {});
  const taken = new Set(checkpoints.map(({ name }) => name.split('@', 1)[0]));
  let n = 1;
  while (taken.has(`by_hand_${n}`)) n++;
  await port.ask('checkpoint', { name: `by_hand_${n}` });
}
