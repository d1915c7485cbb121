import { RefusedFailed, RefusedLoad } from '../../../protocol';
import { watchableOrigin } from '../../rules';
import { askFrame, message, Refused } from '../ask';
import type { Step } from '../step';

/** How long a page may take to be left, and then to answer at all, in ms. */
const LEAVING_MS = 1000;
const HANGING_MS = 3000;
const HANGS =
  'the open page hangs in a script and cannot be left; close its tab and open a new one (browser_tabs)';

/** Goes to an address, back, forward, or loads the page again. */
export async function navigate(on: Step): Promise<void> {
  const to = on.step.texts?.[0] ?? '';
  const { activity, sessions } = on.parties;
  const tab = on.tab;
  const entryId = to === 'back' || to === 'forward' ? await historyEntry(on, to) : undefined;
  const documents = activity.documents(tab);
  const began = activity.navigations(tab);
  let failed: unknown;
  const asked: Promise<unknown> = (
    entryId !== undefined && on.send !== undefined
      ? on.send('Page.navigateToHistoryEntry', { entryId })
      : to === 'back'
        ? chrome.tabs.goBack(tab)
        : to === 'forward'
          ? chrome.tabs.goForward(tab)
          : to === 'reload'
            ? chrome.tabs.reload(tab)
            : chrome.tabs.update(tab, { url: to })
  ).catch((error: unknown) => {
    failed = error;
    activity.changed(tab);
  });
  // A page asks before it is left, or the address differs in its fragment alone: then nothing is loaded.
  let deadline = Date.now() + LEAVING_MS;
  let asking = false;
  let answers = false;
  const answered = (): void => {
    answers = true;
    activity.changed(tab);
  };
  while (
    failed === undefined &&
    !answers &&
    sessions.dialog(tab) === undefined &&
    activity.documents(tab) === documents &&
    (activity.navigations(tab) === began || activity.loading(tab))
  ) {
    const left = deadline - Date.now();
    if (left > 0) await activity.change(tab, left);
    else if (asking) throw new Refused({ refused: RefusedLoad, text: HANGS, busy: true });
    else {
      // The browser leaves no page that does not answer; one that does is on its way, or stays where it is.
      asking = true;
      deadline = Date.now() + HANGING_MS;
      askFrame(tab, 0, { do: 'rest', ms: 0 }).then(answered, answered);
    }
  }
  if (failed !== undefined) throw new Refused({ refused: RefusedFailed, text: message(failed) });
  void asked;
}

/**
 * The entry before or after this one in the tab's history. The browser's own button passes over pages on which
 * no person did anything, which an agent's are. Refused where it is no web page, on which nobody could act.
 */
async function historyEntry(on: Step, to: 'back' | 'forward'): Promise<number | undefined> {
  if (on.send === undefined) return undefined;
  const { currentIndex, entries } = await on.send('Page.getNavigationHistory');
  const entry = entries[currentIndex + (to === 'back' ? -1 : 1)];
  if (entry !== undefined && watchableOrigin(entry.url) !== undefined) return entry.id;
  throw new Refused({ refused: RefusedFailed, text: `this tab has no web page to go ${to} to` });
}
