/** Stacks as they are reported: lines "function (url:line:column)", the innermost frame first. */
import type { Protocol } from 'devtools-protocol';
import { HOOKS, STACK_DEPTH } from '../page/records';
import { MaxShort, MaxStack } from '../protocol';
import { redactURL } from '../redact/redact';
import { cutUnits } from './text';

/** A frame; lines and columns count from 0. */
export interface Frame
  extends Pick<Protocol.Runtime.CallFrame, 'functionName' | 'url' | 'lineNumber' | 'columnNumber'> {
  /** Whether the place is where the function waits for the frame before, and not where it called it. */
  readonly waits?: boolean;
}

/** How many stacks that scheduled one another are kept, by capture and while debugging. */
export const ASYNC_DEPTH = 8;

/** The longest address of a frame, and the longest name of a function, in UTF-16 units. */
const MAX_ADDRESS = MaxShort / 2;
const MAX_NAME = 200;
/** The most addresses of which it is known how they read. */
const MAX_KNOWN = 500;

/** Code that is not the page's own: installed packages, development servers, frameworks' own chunks, other extensions. */
const libraries =
  /node_modules[/_]|\/vite\/deps\/|\/@vite\/|\/@react-refresh|\/_next\/static\/chunks\/(?:webpack|framework|main|main-app|polyfills|react-refresh)\b|\/(?:chunk-vendors|vendors?~[^/]*|vendor|polyfills|zone(?:\.min)?)(?:[.-][\w-]+)?\.m?js|\/socket\.io\/socket\.io\.|^(?:chrome-extension|node|native):|^https:\/\/(?:unpkg\.com|esm\.sh|cdn\.jsdelivr\.net|cdnjs\.cloudflare\.com|code\.jquery\.com|ajax\.googleapis\.com)\//;

interface Address {
  readonly text: string;
  readonly library: boolean;
}

const addresses = new Map<string, Address>();

/** How an address reads. The frames of a page name few addresses, again and again. */
function addressOf(url: string): Address {
  let address = addresses.get(url);
  if (address === undefined) {
    if (addresses.size >= MAX_KNOWN) addresses.clear();
    // Of code that is an address itself the beginning is enough, and of any other the path.
    const part = url.length <= MAX_ADDRESS ? url : cutUnits(url.replace(/[?#,].*$/s, ''), MAX_ADDRESS);
    address = { text: redactURL(part).text, library: libraries.test(url) };
    addresses.set(url, address);
  }
  return address;
}

/** The line of a frame. */
export function frameLine({ functionName, url, lineNumber, columnNumber }: Frame): string {
  const name = cutUnits(functionName, MAX_NAME) || '(anonymous)';
  return `${name} (${addressOf(url).text}:${lineNumber + 1}:${columnNumber + 1})`;
}

/**
 * The frames of the page: without those of evaluated code, which has no lines to show, and without those of the hooks, which
 * a page may have still when the debugger comes to it.
 */
export function pageFrames<F extends Frame>(frames: readonly F[] | undefined): F[] {
  return frames?.filter(({ url }) => url !== '' && url !== HOOKS) ?? [];
}

/** The most frames of a stack that are looked at. */
const MAX_SEEN = 200;

/**
 * The lines of the code that caused something, of at most {@link MaxStack} frames. Where a frame is the page's own,
 * those of libraries are left out: deep below them the page's would be cut off. A function that waits is "async function".
 */
export function causeLines(frames: Iterable<Frame>): string[] {
  const own: Frame[] = [];
  const others: Frame[] = [];
  for (const frame of frames) {
    if (frame.url === '' || frame.url === HOOKS) continue;
    const list = addressOf(frame.url).library ? others : own;
    if (list.length < MAX_SEEN) list.push(frame);
    if (own.length === MAX_SEEN) break;
  }
  return withEntries(own.length > 0 ? own : others).map(
    (frame) => (frame.waits === true ? 'async ' : '') + frameLine(frame),
  );
}

/**
 * At most {@link MaxStack} frames: those in which another script goes on come first, because a script may be a library of
 * an unknown name, deep above the code that called it. Of scripts that call each other in a loop, the innermost do.
 */
function withEntries(frames: readonly Frame[]): readonly Frame[] {
  if (frames.length <= MaxStack) return frames;
  const calls = frames.map(({ url }, i) => `${url} ${frames[i - 1]?.url ?? ''}`);
  const enters = calls.map((call, i) => frames[i]?.url !== frames[i - 1]?.url && calls.indexOf(call) === i);
  let others = MaxStack - enters.filter(Boolean).length;
  return frames.filter((_, i) => enters[i] || others-- > 0).slice(0, MaxStack);
}

/** Whether a frame is the page's own code, as far as its address shows. */
function isOwn({ url }: Frame): boolean {
  return url !== '' && url !== HOOKS && !addressOf(url).library;
}

/**
 * The frames at which an error is reported: those of its stack, or where that is of libraries alone, those of the first
 * stack that scheduled it and has code of the page's own.
 */
export function errorFrames(trace: Protocol.Runtime.StackTrace | undefined): readonly Frame[] | undefined {
  for (let at = trace; at !== undefined; at = at.parent) if (at.callFrames.some(isOwn)) return at.callFrames;
  return trace?.callFrames;
}

/**
 * The frames of a stack and of those that scheduled it. After code of the page's own, a stack that was cut off is the
 * last one: who called that code may be in what is missing.
 */
export function* allFrames(trace: Protocol.Runtime.StackTrace | undefined): Generator<Frame> {
  let own = false;
  for (let at = trace; at !== undefined; at = at.parent) {
    yield* at.callFrames;
    own ||= at.callFrames.some(isOwn);
    if (own && at.callFrames.length >= STACK_DEPTH) return;
  }
}

/** The lines of what began a request or a connection; none where the browser itself did. */
export function initiatorLines(initiator: Protocol.Network.Initiator | undefined): string[] | undefined {
  if (initiator === undefined) return undefined;
  const { stack, url, lineNumber = -1, columnNumber = -1 } = initiator;
  const lines = causeLines(allFrames(stack));
  if (lines.length > 0) return lines;
  if (!url || lineNumber < 0) return undefined;
  // A tag of the document, a rule of a style sheet, an import of a module.
  const functionName = initiator.type === 'parser' ? '(document)' : '(module)';
  return [frameLine({ functionName, url, lineNumber, columnNumber: Math.max(0, columnNumber) })];
}

/**
 * The frames of a stack in V8's own writing, without those of evaluated code. V8 adds to them where the code was evaluated,
 * but counts that line from the start of an inline script. The frame below has the line in the document.
 */
export function parseStack(stack: string): Frame[] {
  const frames: Frame[] = [];
  for (const line of stack.split('\n')) {
    const [, waits, name = '', url, row, column] =
      /^\s+at (async )?(?:(?:new )?(.*?) \()?(.+?):(\d+):(\d+)\)?$/.exec(line) ?? [];
    if (url === undefined || url.startsWith('eval at ')) continue;
    const frame = { functionName: name, url, lineNumber: Number(row) - 1, columnNumber: Number(column) - 1 };
    frames.push(waits === undefined ? frame : { ...frame, waits: true });
  }
  return frames;
}
