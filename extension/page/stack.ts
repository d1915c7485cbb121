/** Where the page's code stands, read without running what the page may have hung into stacks. */
import { withoutHooks } from './disguise';
import { defineProperty, getOwnPropertyDescriptor, indexOf } from './natives';

const ErrorNative = Error;
const capture = (Error as unknown as { captureStackTrace: (holder: object) => void }).captureStackTrace;
/** A stack that is written out only when it is read. */
export interface Holder {
  stack?: string;
}

/** How deep the stacks of {@link deep} are: the frames of a library above the page's own would fill the usual ten. */
const DEPTH = 30;

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
  defineProperty(ErrorNative, 'stackTraceLimit', { ...own, value: DEPTH });
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
