/**
 * What the hooks use of the page's world, taken before the page's first script runs: later nothing of it
 * can be trusted to be what it was.
 */
export const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } =
  Reflect;

type Method = (this: never, ...args: never[]) => unknown;

/** A method as a function of its receiver, whatever becomes of `call` and of the prototype. */
export function unbound<T extends Method>(method: T): (self: unknown, ...args: unknown[]) => ReturnType<T> {
  return (self, ...args) => apply(method, self as never, args) as ReturnType<T>;
}

/** The getter of an accessor of a prototype. */
export function getter<T>(prototype: object, name: string): (self: unknown) => T {
  const get = getOwnPropertyDescriptor(prototype, name)?.get;
  return (self) => apply(get as () => T, self, []) as T;
}

export const now = Date.now;
export const listen = unbound(EventTarget.prototype.addEventListener);
export const unlisten = unbound(EventTarget.prototype.removeEventListener);
export const dispatch = unbound(EventTarget.prototype.dispatchEvent);
export const after = unbound(Promise.prototype.then) as <T>(
  promise: Promise<T>,
  done: ((value: T) => unknown) | undefined,
  failed?: (reason: unknown) => unknown,
) => Promise<T>;
export const slice = unbound(String.prototype.slice) as (text: string, from: number, to?: number) => string;
export const indexOf = unbound(String.prototype.indexOf) as (
  text: string,
  part: string,
  from?: number,
) => number;
export const lastIndexOf = unbound(String.prototype.lastIndexOf) as (
  text: string,
  part: string,
  from?: number,
) => number;
export const isArray = Array.isArray;
export const text = String;

/** Appends without running a setter that the page may have put on a prototype. */
export function append<T>(list: T[], value: T): void {
  defineProperty(list, list.length, { value, writable: true, enumerable: true, configurable: true });
}

/** Whether a value is an object of a class of this world, by the class's own test. */
export function isA<T>(test: (value: unknown) => T): (value: unknown) => T | undefined {
  return (value) => {
    try {
      return test(value);
    } catch {
      return undefined;
    }
  };
}
