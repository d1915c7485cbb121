/** Reasons why a page does not answer. The debugger reports dialogs and crashes where it is attached. */

import { CodedError } from '../../coded-error';
import { cutWhole } from '../../cut';
import { type ActDialog, CodeInvalid, CodeUnavailable } from '../../protocol';
import { redactURL } from '../../redact/redact';

/** How reading a page's tree failed: the browser's error, or no answer in time. */
export type Failure = { readonly error: string } | 'late';

/** The longest message of a dialog in an error, in UTF-16 units. */
const MAX_MESSAGE = 200;

/** The dialog that a tab's page has open, without secrets. */
let shown: (tab: number) => ActDialog | undefined = () => undefined;
const crashed = new Set<number>();
const watching = new Set<(tab: number) => void>();

/**
 * Follows the debugger's events. Called once, before anything can happen, and after `dialog` has begun to follow them:
 * it returns the dialog that a tab's page has open, without secrets.
 */
export function followTroubles(dialog: typeof shown): void {
  shown = dialog;
  chrome.debugger?.onEvent.addListener(({ tabId: tab }, method) => {
    if (tab === undefined) return;
    if (method === 'Inspector.targetCrashed') crashed.add(tab);
    else if (method !== 'Page.javascriptDialogOpening') return;
    for (const tell of watching) tell(tab);
  });
  chrome.webNavigation.onCommitted.addListener(({ tabId, frameId }) => {
    if (frameId === 0) crashed.delete(tabId);
  });
  chrome.tabs.onRemoved.addListener((tab) => crashed.delete(tab));
}

/** Calls `tell` with each tab whose page stops answering. The returned function ends this. */
export function onTrouble(tell: (tab: number) => void): () => void {
  watching.add(tell);
  return () => watching.delete(tell);
}

/** The dialog or the crash for which a tab's page cannot answer; undefined when none is known. */
export function knownTrouble(tab: number, failure?: Failure): CodedError | undefined {
  const dialog = shown(tab);
  if (dialog !== undefined) {
    const kind = dialog.kind === 'beforeunload' ? 'leave the page?' : dialog.kind;
    const message = JSON.stringify(cutWhole(dialog.message, MAX_MESSAGE));
    const text = `A dialog is open (${kind} ${message}). The page does not answer until it is closed.`;
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
    const text = `The page could not be loaded: the browser shows an error page instead of ${top === undefined ? 'it' : redactURL(top.url).text}.`;
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
