/** What keeps a page from answering. Dialogs and crashes are told by the debugger, where it is attached. */

import { CodedError } from '../../coded-error';
import { cutWhole } from '../../cut';
import { CodeInvalid, CodeUnavailable } from '../../protocol';

/** How asking a page for its tree failed: what the browser said, or that the page did not answer. */
export type Failure = { readonly error: string } | 'late';

/** The dialog that each tab's page has open. */
const dialogs = new Map<number, string>();
const crashed = new Set<number>();
const watching = new Set<(tab: number) => void>();

/** Follows the debugger's events; called once, before anything can happen. */
export function followTroubles(): void {
  chrome.debugger?.onEvent.addListener(({ tabId: tab }, method, params) => {
    if (tab === undefined) return;
    if (method === 'Page.javascriptDialogOpening') {
      const { type, message } = params as { type: string; message: string };
      dialogs.set(
        tab,
        `${type === 'beforeunload' ? 'leave the page?' : type} ${JSON.stringify(cutWhole(message, 200))}`,
      );
    } else if (method === 'Page.javascriptDialogClosed') {
      dialogs.delete(tab);
      return;
    } else if (method === 'Inspector.targetCrashed') {
      crashed.add(tab);
    } else {
      return;
    }
    for (const tell of watching) tell(tab);
  });
  const forget = (tab: number): void => {
    dialogs.delete(tab);
    crashed.delete(tab);
  };
  chrome.debugger?.onDetach.addListener(({ tabId: tab }) => {
    if (tab !== undefined) dialogs.delete(tab);
  });
  chrome.webNavigation.onCommitted.addListener(({ tabId, frameId }) => {
    if (frameId === 0) forget(tabId);
  });
  chrome.tabs.onRemoved.addListener(forget);
}

/** Calls `tell` with a tab whose page stops answering, until what is returned is called. */
export function onTrouble(tell: (tab: number) => void): () => void {
  watching.add(tell);
  return () => watching.delete(tell);
}

/** The dialog or the crash for which a tab's page cannot answer; undefined when none is known. */
export function knownTrouble(tab: number, failure?: Failure): CodedError | undefined {
  const dialog = dialogs.get(tab);
  if (dialog !== undefined) {
    const text = `A dialog is open (${dialog}); the page answers nothing until it is closed.`;
    return new CodedError(CodeInvalid, text);
  }
  const said = typeof failure === 'object' ? failure.error : '';
  if (!crashed.has(tab) && !/crashed/i.test(said)) return undefined;
  return new CodedError(CodeInvalid, 'The page has crashed; reload the tab.');
}

/** Says why a page cannot be read. */
export function unreadable(
  tab: number,
  top: { url: string; errorOccurred: boolean } | undefined,
  failure: Failure | undefined,
): CodedError {
  const known = knownTrouble(tab, failure);
  if (known !== undefined) return known;
  if (failure === 'late') {
    const text =
      'The page does not answer: a dialog (alert, confirm) may be open in it, or a script in it runs on and on; if it stays so, close its tab and open another one (browser_tabs).';
    return new CodedError(CodeInvalid, text);
  }
  const said = failure?.error ?? '';
  if (top?.errorOccurred === true || said.includes('error page')) {
    const text = `The page could not be loaded: the browser shows an error page instead of ${top?.url ?? 'it'}.`;
    return new CodedError(CodeUnavailable, text);
  }
  if (/cannot access|cannot be scripted|must request permission/i.test(said)) {
    return new CodedError(
      CodeUnavailable,
      'The page cannot be read: it is not open to extensions, or it has crashed.',
    );
  }
  return new CodedError(CodeUnavailable, 'The page cannot be read: it is still loading.');
}
