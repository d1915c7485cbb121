/** Reasons why a page does not answer. The debugger reports dialogs and crashes where it is attached. */

import { CodedError } from '../../coded-error';
import { cutWhole } from '../../cut';
import { CodeInvalid, CodeUnavailable } from '../../protocol';

/** How reading a page's tree failed: the browser's error, or no answer in time. */
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

/** Calls `tell` with each tab whose page stops answering. The returned function ends this. */
export function onTrouble(tell: (tab: number) => void): () => void {
  watching.add(tell);
  return () => watching.delete(tell);
}

/** The dialog or the crash for which a tab's page cannot answer; undefined when none is known. */
export function knownTrouble(tab: number, failure?: Failure): CodedError | undefined {
  const dialog = dialogs.get(tab);
  if (dialog !== undefined) {
    const text = `A dialog is open (${dialog}). The page does not answer until it is closed.`;
    return new CodedError(CodeInvalid, text);
  }
  const said = typeof failure === 'object' ? failure.error : '';
  if (!crashed.has(tab) && !/crashed/i.test(said)) return undefined;
  return new CodedError(CodeInvalid, 'The page crashed. Reload the tab.');
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
      'The page does not answer. It may have a dialog open (alert, confirm) or hang in a script. If this continues, close its tab and open a new one (browser_tabs).';
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
      'The page cannot be read: extensions have no access to it, or it crashed.',
    );
  }
  return new CodedError(CodeUnavailable, 'The page cannot be read: it is still loading.');
}
