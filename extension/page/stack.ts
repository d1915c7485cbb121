/** Where the page's code stands, read without running what the page may have hung into stacks. */
import { withoutHooks } from './disguise';
import { defineProperty, getOwnPropertyDescriptor, indexOf, lastIndexOf, slice } from './natives';
import { STACK_DEPTH } from './records';

const ErrorNative = Error;
const capture = (Error as unknown as { captureStackTrace: (holder: object) => void }).captureStackTrace;
/** A stack that is written out only when it is read. */
export interface Holder {
  stack?: string;
}

/** Takes the stack here, with the hooks' own frames on its top, as deep as the page lets stacks be. */
export function here(): Holder {
  const holder: Holder = {};
  capture(holder);
  return holder;
}

/** Takes the stack here, with the functions that wait for this one, deeper than the page lets stacks be. */
export function deep(): Holder {
  const own = getOwnPropertyDescriptor(ErrorNative, 'stackTraceLimit');
  if (own?.writable !== true || own.configurable !== true) return here();
  defineProperty(ErrorNative, 'stackTraceLimit', { ...own, value: STACK_DEPTH });
  try {
    return here();
  } finally {
    defineProperty(ErrorNative, 'stackTraceLimit', own);
  }
}

/** Writes a stack out, by the browser's own format even where the page has another. */
export function written(holder: Holder): string {
  const own = getOwnPropertyDescriptor(ErrorNative, 'prepareStackTrace');
  if (own?.configurable === true) defineProperty(ErrorNative, 'prepareStackTrace', { ...noFormat });
  try {
    const { stack } = holder;
    return typeof stack === 'string' ? withoutHooks(stack) : '';
  } finally {
    if (own?.configurable === true) defineProperty(ErrorNative, 'prepareStackTrace', own);
  }
}

/** How many frames of each run of a script in a long stack come before any others, if they fit: a wrapper has callers. */
const OF_EACH_RUN = 3;

/**
 * A stack of at most so many units. In a longer one the frames in which another script goes on come first, because the
 * page's own code is below those of libraries.
 */
export function folded(stack: string, most: number): string {
  if (stack.length <= most) return stack;
  let first = OF_EACH_RUN;
  let left = most - sizeOf(stack, first);
  if (left < 0) {
    first = 1;
    left = most - sizeOf(stack, first);
  }
  let kept = '';
  eachLine(stack, (line, nth) => {
    if (nth >= first) {
      left -= line.length + 1;
      if (left < 0) return;
    }
    kept += (kept === '' ? '' : '\n') + line;
  });
  return slice(kept, 0, most);
}

/** The size of the first lines of each run. */
function sizeOf(stack: string, first: number): number {
  let size = 0;
  eachLine(stack, (line, nth) => {
    if (nth < first) size += line.length + 1;
  });
  return size;
}

/** Calls `take` with each line of a stack, and with its place in the run of lines of the same script. */
function eachLine(stack: string, take: (line: string, nth: number) => void): void {
  let before = '';
  let nth = 0;
  for (let from = 0; from <= stack.length; ) {
    let to = indexOf(stack, '\n', from);
    if (to < 0) to = stack.length;
    const line = slice(stack, from, to);
    const script = scriptOf(line);
    nth = script === before ? nth + 1 : 0;
    take(line, nth);
    before = script;
    from = to + 1;
  }
}

/** The address in a line of a stack: "    at name (address:line:column)", or without a name. */
function scriptOf(line: string): string {
  const open = lastIndexOf(line, '(');
  const column = lastIndexOf(line, ':');
  return slice(line, open < 0 ? lastIndexOf(line, ' ') : open + 1, lastIndexOf(line, ':', column - 1));
}

const noFormat: PropertyDescriptor = {
  value: undefined,
  writable: true,
  configurable: true,
  enumerable: false,
};

/** The stack of an error of the page's; none when the page has a format of its own, which reading would run. */
export function ofError(error: unknown): string {
  const own = getOwnPropertyDescriptor(ErrorNative, 'prepareStackTrace');
  // A framework that took a format away for a moment may leave an undefined one behind.
  if (typeof own?.value === 'function' || own?.get !== undefined) return '';
  try {
    const stack = (error as { stack?: unknown } | null)?.stack;
    return typeof stack === 'string' ? withoutHooks(stack) : '';
  } catch {
    return '';
  }
}

/** The browser's own getter of a stack, where stacks are accessors. */
const stackGetter = getOwnPropertyDescriptor(new ErrorNative(), 'stack')?.get;

/**
 * The stack of an error that the page logs; empty where it has no frames, and where reading it could run code of the
 * page: an error may have an accessor of the page's in its place.
 */
export function ofLogged(error: Error): string {
  const own = getOwnPropertyDescriptor(error, 'stack');
  if (own === undefined || (own.get !== undefined && own.get !== stackGetter)) return '';
  const stack = ofError(error);
  return indexOf(stack, '\n    at ') < 0 ? '' : stack;
}
