/** Reads a tab's accessibility tree: from each of its frames, without the debugger. */

import { MASK, redactText } from '../capture/redact';
import { CodedError } from '../coded-error';
import {
  type AriaFrame,
  type AriaKnown,
  type AriaParams,
  type AriaResult,
  CodeInvalid,
  CodeUnavailable,
} from '../protocol';

const SCRIPT = 'aria.js';
/** What a frame may take longer than it was told to, in ms: for putting in order what it has read, and the way. */
const GRACE_MS = 4000;

type Look = Omit<AriaFrame, 'frame' | 'parent'>;

/** Checks what the host sent. */
export function readAriaParams(params: unknown): AriaParams {
  const { tab, known, timeout_ms } = (params ?? {}) as Partial<Record<keyof AriaParams, unknown>>;
  if (typeof tab !== 'number' || typeof timeout_ms !== 'number' || !(timeout_ms > 0)) {
    throw new CodedError(CodeInvalid, 'aria: tab and timeout_ms must be numbers.');
  }
  return { tab, known: Array.isArray(known) ? (known as AriaKnown[]) : [], timeout_ms };
}

/** Answers with all frames of the tab that can be read; `patience` is how long each is waited for, in ms. */
export async function aria(
  { tab, known = [], timeout_ms }: AriaParams,
  patience = timeout_ms + GRACE_MS,
): Promise<AriaResult> {
  const all = await chrome.webNavigation.getAllFrames({ tabId: tab }).catch(() => null);
  if (all === null || all === undefined) throw new CodedError(CodeUnavailable, 'The tab is no longer there.');
  const shown = all.filter(({ documentLifecycle }) => documentLifecycle !== 'prerender');
  // A document that is left while it is read never answers.
  const left = new Map<number, () => void>();
  const committed = ({ tabId, frameId }: { tabId: number; frameId: number }): void => {
    if (tabId === tab) left.get(frameId)?.();
  };
  chrome.webNavigation.onCommitted.addListener(committed);
  const looks = await Promise.all(
    shown.map(async ({ frameId, parentFrameId }): Promise<AriaFrame | undefined> => {
      const leaving = new Promise<undefined>((resolve) => left.set(frameId, () => resolve(undefined)));
      const look = await Promise.race([lookAt(tab, frameId, known, timeout_ms, patience), leaving]);
      return look && { frame: frameId, parent: parentFrameId, ...masked(look) };
    }),
  );
  chrome.webNavigation.onCommitted.removeListener(committed);
  const frames = looks.filter((look) => look !== undefined).sort((a, b) => a.frame - b.frame);
  if (frames[0]?.frame !== 0) {
    throw new CodedError(
      CodeUnavailable,
      'The page cannot be read: it is still loading, busy, or not open to extensions.',
    );
  }
  const unread = shown.length - frames.length;
  return { frames, ...(unread > 0 && { unread }) };
}

async function lookAt(
  tab: number,
  frame: number,
  known: AriaKnown[],
  timeoutMs: number,
  patience: number,
): Promise<Look | undefined> {
  const ask = inFrame(
    tab,
    frame,
    (...args: [AriaKnown[], string, number]) =>
      (globalThis as { tidemarkAria?: (...args: unknown[]) => Promise<unknown> }).tidemarkAria?.(...args),
    [known, MASK, timeoutMs],
  );
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, patience, undefined);
  });
  // A frame of an origin without permission, or one that has just gone, is not read.
  const said = await Promise.race([ask.catch(() => undefined), late]);
  clearTimeout(timer);
  return typeof said === 'string' ? (JSON.parse(said) as Look) : undefined;
}

/** Calls a function in a frame, in which what it needs is put first where it is not there yet. */
export async function inFrame<Args extends unknown[]>(
  tab: number,
  frame: number,
  func: (...args: Args) => Promise<unknown> | undefined,
  args: Args,
): Promise<unknown> {
  const target = { tabId: tab, frameIds: [frame] };
  const ask = async (): Promise<unknown> => {
    const [answer] = await chrome.scripting.executeScript({ target, injectImmediately: true, func, args });
    return answer?.result ?? undefined;
  };
  const first = await ask();
  if (first !== undefined) return first;
  await chrome.scripting.executeScript({ target, injectImmediately: true, files: [SCRIPT] });
  return await ask();
}

/** Looks for secrets once more: in names that the page wrote, and in values that no rule for fields knew. */
function masked(look: Look): Look {
  let count = 0;
  const clean = (text: string): string => {
    const { text: out, masked: found } = redactText(text);
    count += found;
    return out;
  };
  for (const node of look.nodes) {
    if (node.n !== undefined) node.n = clean(node.n);
    if (node.d !== undefined) node.d = clean(node.d);
    if (node.v !== undefined && node.v !== MASK && node.v !== '') node.v = clean(node.v);
  }
  return count > 0 ? { ...look, masked: count } : look;
}
