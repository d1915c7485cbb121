/** Reloads tabs whose first navigation the browser dropped. */
import { watchableOrigin } from './rules';

/** How often tabs are looked at for a navigation that was dropped, in ms, and how often in all. */
const REVIVE_MS = 700;
const REVIVE_LOOKS = 8;

/** The part of `chrome.tabs` that is used. */
export type RevivableTabs = Pick<typeof chrome.tabs, 'query' | 'update'>;

/**
 * Chromium 156 may drop the first navigation of a tab when an extension that may use webRequest is
 * loaded at that moment, as `--load-extension` does: the tab stays blank, with an address to go to,
 * and does not load. This extension causes it, so it is fixed here. No event reports it, so the tabs
 * are checked a few times.
 */
export async function revive(tabs: RevivableTabs): Promise<void> {
  for (let look = 0; look < REVIVE_LOOKS; look++) {
    for (const { id, url, pendingUrl, status } of await tabs.query({})) {
      const isDropped = !url && pendingUrl !== undefined && status === 'complete';
      if (isDropped && id !== undefined && watchableOrigin(pendingUrl) !== undefined) {
        await tabs.update(id, { url: pendingUrl }).catch(() => undefined);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, REVIVE_MS));
  }
}
