/** The browser's tabs as sent to the host and the popup; pure. */

import type { Way } from '../capture/chosen';
import { folded } from '../clean';
import type { PopupTab } from '../messages';
import type { Tab, TabPaused } from '../protocol';
import { redactText, redactURL } from '../redact/redact';
import { type Choices, isWatched, permissionFor, watchableOrigin, why } from './rules';

/** The part of `chrome.tabs.Tab` that is used. */
export interface BrowserTab {
  id?: number | undefined;
  url?: string | undefined;
  /** The address that it is on its way to. */
  pendingUrl?: string | undefined;
  title?: string | undefined;
  favIconUrl?: string | undefined;
  active: boolean;
  windowId: number;
}

/** What the worker knows about a tab beyond the browser's data. */
export interface TabFacts {
  choices: Choices;
  capturing(tab: number): boolean;
  dom(tab: number): boolean;
  note(tab: number): string | undefined;
  /** Whether a tab's page is paused in the debugger. */
  paused(tab: number): TabPaused | undefined;
  /** Whether a worker or a frame of a running page is paused in the debugger. */
  pausedPart(tab: number): TabPaused | undefined;
  /** A tab's title without what sensitive fields of its page hold. */
  title(tab: number, title: string): string;
  /** How a tab is captured. */
  way(tab: number): Way | undefined;
  /** How a tab is to be captured. */
  wanted(tab: number, url: string): Way;
  /** The window that was focused last. */
  window: number | undefined;
}

/**
 * The list for the host. For an unwatched tab it has the origin but no title. So it has for a tab whose first page is captured
 * and has not arrived: what is reported of that page's load is that tab's.
 */
export function hostTabs(tabs: readonly BrowserTab[], facts: TabFacts): Tab[] {
  const list: Tab[] = [];
  for (const { id, url, pendingUrl, title, active, windowId } of tabs) {
    if (id === undefined) continue;
    const capturing = facts.capturing(id);
    const origin = watchableOrigin(url) ?? (capturing ? watchableOrigin(pendingUrl) : undefined);
    if (url === undefined || origin === undefined) continue;
    const watched = capturing && isWatched(id, url, facts.choices);
    const note = facts.note(id);
    const paused = facts.paused(id);
    const part = facts.pausedPart(id);
    list.push({
      id,
      url: watched ? redactURL(url).text : `${origin}/`,
      title: watched ? redactText(facts.title(id, title ?? '')).text : '',
      watched,
      ...(watched && { capture: facts.way(id) ?? '' }),
      ...(watched && facts.dom(id) && { dom: true }),
      ...(active && windowId === facts.window && { active }),
      ...(note !== undefined && { note }),
      ...(watched && paused !== undefined && { paused }),
      ...(watched && paused === undefined && part !== undefined && { paused_part: part }),
    });
  }
  return list;
}

/** The list for the popup: its own tab first, then watched ones, then the others in the browser's order. */
export function popupTabs(
  tabs: readonly BrowserTab[],
  facts: TabFacts,
  missing: ReadonlySet<string>,
): PopupTab[] {
  const list: PopupTab[] = [];
  for (const { id, url, title, favIconUrl, active, windowId } of tabs) {
    const origin = watchableOrigin(url);
    if (id === undefined || url === undefined || origin === undefined) continue;
    const permission = permissionFor(origin);
    const note = facts.note(id);
    const watched = isWatched(id, url, facts.choices);
    const paused = facts.paused(id) ?? facts.pausedPart(id);
    list.push({
      id,
      title: folded(title ?? ''),
      url,
      origin,
      ...(favIconUrl !== undefined && { favicon: favIconUrl }),
      watched,
      ...(watched && { way: facts.way(id) ?? facts.wanted(id, url) }),
      capturing: facts.capturing(id),
      why: why(id, origin, facts.choices),
      ...(missing.has(permission) && { permission }),
      ...(note !== undefined && { note }),
      ...(paused !== undefined && { paused }),
      active: active && windowId === facts.window,
    });
  }
  const rank = (tab: PopupTab): number => (tab.active ? 0 : tab.watched ? 1 : 2);
  return list.sort((a, b) => rank(a) - rank(b));
}
