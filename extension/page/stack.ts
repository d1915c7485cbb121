/** Where the page's code stands, read without running what the page may have hung into stacks. */
import { withoutHooks } from './disguise';
import { defineProperty, getOwnPropertyDescriptor } from './natives';

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
