/** Reads a tab's accessibility tree: from each of its frames, without the debugger. */

import { CodedError } from '../../coded-error';
import {
  type AriaFrame,
  type AriaKnown,
  type AriaParams,
  type AriaResult,
  CodeInvalid,
  CodeUnavailable,
} from '../../protocol';
import { MASK, redactText, redactURL } from '../../redact/redact';
import { type Owners, owners, type Placed } from './frames';
import { type Failure, knownTrouble, onTrouble, unreadable } from './troubles';

const SCRIPT = 'aria.js';
/** How much a frame may exceed its time limit, in ms, for sorting and sending its nodes. */
const GRACE_MS = 4000;
/** After how long a frame is asked whether it is reading, and how long that answer may take, in ms. */
const READING_MS = 3000;
const BUSY_MS = 3000;

/** The frame that the address bar names. */
const TOP = { frameId: 0, parentFrameId: -1 };

type Look = Omit<AriaFrame, 'frame' | 'parent' | 'owner'> & { place: Omit<Placed, 'frame' | 'parent'> };

/** Checks what the host sent. */
export function readAriaParams(params: unknown): AriaParams {
  const { tab, known, timeout_ms, whole } = (params ?? {}) as Partial<Record<keyof AriaParams, unknown>>;
  if (typeof tab !== 'number' || typeof timeout_ms !== 'number' || !(timeout_ms > 0)) {
    throw new CodedError(CodeInvalid, 'aria: tab and timeout_ms must be numbers.');
  }
  return {
    tab,
    known: Array.isArray(known) ? (known as AriaKnown[]) : [],
    timeout_ms,
    ...(whole === true && { whole }),
  };
}

/** How often frames that pages show and nobody has heard of yet are asked for again, and after how many ms. */
const PATIENCE = 4;
const AGAIN_MS = 25;

/** How often the frames are asked where they stand until they say the same twice. */
const MOST_ROUNDS = 5;

/** Answers with all frames of the tab that can be read; `patience` is how long each is waited for, in ms. */
export async function aria(
  { tab, known = [], timeout_ms, whole = false }: AriaParams,
  patience = timeout_ms + GRACE_MS,
): Promise<AriaResult> {
  const read = new Map<number, AriaFrame>();
  const said = new Map<number, Placed>();
  // A document that is left while it is read never answers.
  const left = new Map<number, () => void>();
  const committed = ({ tabId, frameId }: { tabId: number; frameId: number }): void => {
    if (tabId === tab) left.get(frameId)?.();
  };
  let failure: Failure | undefined; // of the top frame
  const ended = onTrouble((other) => {
    if (other === tab) for (const leave of left.values()) leave();
  });
  const lookInto = async ({ frameId, parentFrameId }: { frameId: number; parentFrameId: number }) => {
    const leaving = new Promise<undefined>((resolve) => left.set(frameId, () => resolve(undefined)));
    const fail = (why: Failure): void => {
      if (frameId === 0) failure = why;
    };
    const look = await Promise.race([
      lookAt(tab, frameId, known, timeout_ms, patience, whole, fail),
      leaving,
    ]);
    if (look === undefined) return;
    const { place, ...content } = look;
    const which = { frame: frameId, parent: parentFrameId };
    said.set(frameId, { ...which, ...place });
    read.set(frameId, { ...which, ...masked(content) });
  };
  const trouble = knownTrouble(tab);
  if (trouble !== undefined) throw trouble;
  const tried = new Set<string | number>();
  let unlisted: Shown[] = []; // by the browser
  chrome.webNavigation.onCommitted.addListener(committed);
  try {
    for (let turn = 0; ; turn++) {
      // Most pages are one frame: it is looked at while the browser says which others there are.
      const begun = turn === 0 ? [lookInto(TOP)] : [];
      const all = await chrome.webNavigation.getAllFrames({ tabId: tab }).catch(() => null);
      if (all == null) throw new CodedError(CodeUnavailable, 'The tab no longer exists.');
      const listed = all.filter(({ documentLifecycle }) => documentLifecycle !== 'prerender');
      const isListed = (frame: number): boolean => listed.some(({ frameId }) => frameId === frame);
      const shown: Shown[] = [...listed, ...unlisted.filter(({ frameId }) => !isListed(frameId))];
      for (const frame of read.keys())
        if (shown.every(({ frameId }) => frameId !== frame)) read.delete(frame);
      const name = ({ documentId, frameId }: Shown): string | number => documentId ?? frameId;
      const unseen = shown.filter((frame) => !read.has(frame.frameId) && !tried.has(name(frame)));
      for (const frame of unseen) tried.add(name(frame));
      const others = begun.length === 0 ? unseen : unseen.filter(({ frameId }) => frameId !== TOP.frameId);
      await Promise.all([...begun, ...others.map(lookInto)]);
      const frames = [...read.values()].sort((a, b) => a.frame - b.frame);
      if (frames[0]?.frame !== 0)
        throw unreadable(
          tab,
          listed.find(({ frameId }) => frameId === 0),
          failure,
        );
      const unread = shown.filter(({ frameId }) => !read.has(frameId));
      const { gone, missing, unsure, open } = await place(tab, frames, said, unread);
      for (const { frame } of gone) read.delete(frame);
      if (turn < PATIENCE && (missing.length > 0 || gone.length > 0)) {
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        if (missing.length > 0) unlisted = await framesInTop(tab);
        continue;
      }
      const given = open.filter((url) => unread.every((frame) => frame.url !== url));
      // What a plugin shows, such as a PDF, has no address of its own.
      const around = (id: number): string | undefined => shown.find(({ frameId }) => frameId === id)?.url;
      const addresses = unread.map(({ url, parentFrameId }) =>
        url === 'about:blank' ? (given.shift() ?? around(parentFrameId) ?? url) : url,
      );
      addresses.push(...gone.map(({ url }) => url));
      addresses.push(...missing, ...unsure);
      return {
        frames: frames.filter(({ frame }) => read.has(frame)),
        ...(addresses.length > 0 && { unread: addresses.map(address) }),
      };
    }
  } finally {
    chrome.webNavigation.onCommitted.removeListener(committed);
    ended();
  }
}

/** A frame, as the browser lists it. */
interface Shown {
  frameId: number;
  parentFrameId: number;
  url: string;
  documentId?: string | undefined;
}

/** The frames in the top one that scripts reach: of a page that came back by "back", the browser lists none. */
async function framesInTop(tab: number): Promise<Shown[]> {
  const found = await within(
    GRACE_MS,
    chrome.scripting.executeScript({
      target: { tabId: tab, allFrames: true },
      injectImmediately: true,
      // With an empty document frames begin: what they are to show is still on its way.
      func: () =>
        window !== top && parent === top && location.href !== 'about:blank' ? location.href : undefined,
    }),
  );
  return (found ?? []).flatMap(({ frameId, documentId, result }) =>
    typeof result === 'string' ? [{ frameId, documentId, url: result, parentFrameId: TOP.frameId }] : [],
  );
}

/**
 * Notes at each frame which element shows it. Frames are in processes of their own and do not answer at one
 * moment, so they are asked until none of them says anything else than before; at first that is what they said
 * when they were read.
 */
async function place(
  tab: number,
  frames: readonly AriaFrame[],
  said: ReadonlyMap<number, Placed>,
  unread: readonly { parentFrameId: number; url: string }[],
): Promise<Omit<Owners, 'owner'> & { gone: AriaFrame[] }> {
  const ask = async ({ frame, parent, document }: AriaFrame): Promise<Placed | undefined> => {
    const asked = chrome.scripting.executeScript({
      target: { tabId: tab, frameIds: [frame] },
      injectImmediately: true,
      func: () => (globalThis as { tidemarkPlaces?: () => string }).tidemarkPlaces?.(),
    });
    const answers = await within(GRACE_MS, asked);
    const said: unknown = answers?.[0]?.result;
    if (typeof said !== 'string') return undefined;
    const placed = JSON.parse(said) as Omit<Placed, 'frame' | 'parent'>;
    return placed.document === document ? { frame, parent, ...placed } : undefined;
  };
  let places = frames.map(({ frame }) => said.get(frame)).filter((placed) => placed !== undefined);
  for (let round = 0; round < MOST_ROUNDS && places.some(({ slots }) => slots.length > 0); round++) {
    const before = JSON.stringify(places);
    places = (await Promise.all(frames.map(ask))).filter((placed) => placed !== undefined);
    if (JSON.stringify(places) === before) break;
  }
  const { owner, ...rest } = owners(
    places,
    unread.map(({ parentFrameId, url }) => ({ parent: parentFrameId, url })),
  );
  for (const frame of frames) frame.owner = owner.get(frame.frame) ?? 0;
  const placed = new Set(places.map(({ frame }) => frame));
  return { ...rest, gone: frames.filter(({ frame }) => frame !== 0 && !placed.has(frame)) };
}

/** An address as it may be shown: without secrets, and of what is written in place only its kind. */
function address(url: string): string {
  return redactText(/^(?:data|blob):/.test(url) ? url.slice(0, 30) : url).text;
}

/** What is promised, undefined when it fails or takes longer than some ms. */
async function within<T>(ms: number, promise: Promise<T>, isLate?: () => void): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      isLate?.();
      resolve(undefined);
    }, ms);
  });
  const first = await Promise.race([promise.catch(() => undefined), late]);
  clearTimeout(timer);
  return first;
}

async function lookAt(
  tab: number,
  frame: number,
  known: AriaKnown[],
  timeoutMs: number,
  patience: number,
  thorough: boolean,
  fail: (why: Failure) => void,
): Promise<Look | undefined> {
  const ask = inFrame(
    tab,
    frame,
    (...args: [AriaKnown[], string, number, boolean]) =>
      (globalThis as { tidemarkAria?: (...args: unknown[]) => Promise<unknown> }).tidemarkAria?.(...args),
    [known, MASK, timeoutMs, thorough],
  );
  // A frame of an origin without permission, or one that has just gone, is not read.
  const asked = ask.catch((error: unknown) => {
    fail({ error: error instanceof Error ? error.message : String(error) });
    return undefined;
  });
  let late = false;
  const isLate = (): void => {
    late = true;
  };
  let said = await within(Math.min(READING_MS, patience), asked, isLate);
  if (late && patience > READING_MS) {
    // A frame that reads a large page answers meanwhile; one that hangs in a script does not.
    const target = { tabId: tab, frameIds: [frame] };
    const answer = chrome.scripting.executeScript({ target, injectImmediately: true, func: () => true });
    if ((await within(Math.min(BUSY_MS, patience - READING_MS), answer)) !== undefined) {
      late = false;
      said = await within(patience - READING_MS, asked, isLate);
    }
  }
  if (late) fail('late');
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

/** Searches for secrets again, in what the page wrote: names, keys, its title and address, and values without a field rule. */
function masked<Read extends { nodes: AriaFrame['nodes']; title: string; url: string }>(look: Read): Read {
  let count = 0;
  const clean = (text: string): string => {
    const { text: out, masked: found } = redactText(text);
    count += found;
    return out;
  };
  for (const node of look.nodes) {
    if (node.n !== undefined) node.n = clean(node.n);
    if (node.d !== undefined) node.d = clean(node.d);
    if (node.k !== undefined) node.k = clean(node.k);
    if (node.gk !== undefined) node.gk = node.gk.map(clean);
    if (node.v !== undefined && node.v !== MASK && node.v !== '') node.v = clean(node.v);
  }
  const title = clean(look.title);
  const address = redactURL(look.url);
  count += address.masked;
  return count > 0 ? { ...look, title, url: address.text, masked: count } : look;
}
