/** Injects the content script where the manifest does not: origins that the user chose, pages that were already open. */
import type { Way } from '../capture/chosen';
import type { ContentFrames } from './frames';
import { permissionFor } from './rules';

const SCRIPT = 'content.js';
/** What runs in the page's own world: the hooks of quiet capture, and the witness beside the debugger. */
const IN_PAGE = { quiet: 'page.js', debugger: 'witness.js' } as const satisfies Record<Way, string>;

/** How long a page may take to start its content script, or to connect again after the worker's end, in ms. */
const PATIENCE_MS = 1500;

/** Has the browser run the content script on a chosen origin from now on; takes it back when switched off. */
export async function registerOrigin(origin: string, on: boolean): Promise<void> {
  const id = `origin ${permissionFor(origin)}`;
  const there = await chrome.scripting.getRegisteredContentScripts({ ids: [id] });
  if (on && there.length === 0) {
    await chrome.scripting.registerContentScripts([
      {
        id,
        matches: [permissionFor(origin)],
        js: [SCRIPT],
        allFrames: true,
        matchOriginAsFallback: true,
        runAt: 'document_start',
      },
    ]);
  } else if (!on && there.length > 0) {
    await chrome.scripting.unregisterContentScripts({ ids: [id] });
  }
}

/** Runs the content script in the frames of a tab that have none although they were given time. */
export function injectWhereMissing(tab: number, frames: ContentFrames, watched: () => boolean): void {
  setTimeout(() => void inject(tab, frames, watched), PATIENCE_MS);
}

async function inject(tab: number, frames: ContentFrames, watched: () => boolean): Promise<void> {
  if (!watched()) return;
  const all = (await chrome.webNavigation.getAllFrames({ tabId: tab })) ?? [];
  const have = new Set(frames.frames(tab));
  for (const { frameId, url, errorOccurred } of all) {
    if (have.has(frameId) || errorOccurred || !/^(?:https?:|about:(?:blank|srcdoc))/.test(url)) continue;
    // Frames of origins without permission, and removed frames, stay without it.
    await chrome.scripting
      .executeScript({
        target: { tabId: tab, frameIds: [frameId] },
        files: [SCRIPT],
        injectImmediately: true,
      })
      .catch(() => undefined);
  }
}

/** The pages in whose own world a script runs from their first line on: as patterns, and exceptions from them. */
export interface HookedPages {
  matches: string[];
  excludeMatches: string[];
}

/** Has the browser run a script in the world of these pages from now on, and of no others. */
export async function registerHooks(way: Way, { matches, excludeMatches }: HookedPages): Promise<void> {
  const id = way === 'quiet' ? 'hooks' : 'witness';
  const [there] = await chrome.scripting.getRegisteredContentScripts({ ids: [id] });
  if (matches.length === 0) {
    if (there !== undefined) await chrome.scripting.unregisterContentScripts({ ids: [id] });
    return;
  }
  const script: chrome.scripting.RegisteredContentScript = {
    id,
    matches,
    excludeMatches,
    js: [IN_PAGE[way]],
    world: 'MAIN',
    allFrames: true,
    matchOriginAsFallback: true,
    runAt: 'document_start',
  };
  if (there === undefined) await chrome.scripting.registerContentScripts([script]);
  else await chrome.scripting.updateContentScripts([script]);
}

/**
 * Runs such a script in documents that lack it because they were there before it was wanted. A document says itself
 * whether it does: its message that the script is there may still be on its way.
 */
export async function injectHooks(way: Way, tab: number, documents: readonly string[]): Promise<void> {
  await Promise.all(
    documents.map(async (document) => {
      const target = { tabId: tab, documentIds: [document] };
      try {
        const [answer] = await chrome.scripting.executeScript({
          target,
          injectImmediately: true,
          func: (of: Way) => (globalThis as { tidemarkLacks?: (way: Way) => boolean }).tidemarkLacks?.(of),
          args: [way],
        });
        if (answer?.result !== true) return;
        await chrome.scripting.executeScript({
          target,
          files: [IN_PAGE[way]],
          world: 'MAIN',
          injectImmediately: true,
        });
      } catch {
        // the document was left, or may not be reached
      }
    }),
  );
}
