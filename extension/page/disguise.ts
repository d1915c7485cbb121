/** Puts the hooks in place of the browser's own functions without the page being able to tell. */
import {
  apply,
  construct,
  defineProperty,
  getOwnPropertyDescriptor,
  indexOf,
  slice,
  unbound,
} from './natives';
import { HOOKS } from './records';

type Fn = (...args: never[]) => unknown;

const originals = new WeakMap<object, object>();
const original = unbound(WeakMap.prototype.get).bind(undefined, originals) as (
  fn: unknown,
) => object | undefined;

/** A stack without this script's frames. */
export function withoutHooks(stack: string): string {
  let at = indexOf(stack, HOOKS);
  if (at < 0) return stack;
  let clean = '';
  let from = 0;
  while (from <= stack.length) {
    let to = indexOf(stack, '\n', from);
    if (to < 0) to = stack.length;
    if (at < from) at = indexOf(stack, HOOKS, from);
    if (at < 0 || at > to) clean += (from > 0 ? '\n' : '') + slice(stack, from, to);
    from = to + 1;
  }
  return clean;
}

/** Takes this script's frames out of an error that the browser threw through it. */
export function clean(error: unknown): unknown {
  try {
    const stack = (error as { stack?: unknown } | undefined)?.stack;
    if (typeof stack === 'string' && indexOf(stack, HOOKS) >= 0) {
      (error as { stack: string }).stack = withoutHooks(stack);
    }
  } catch {
    // a frozen error keeps them
  }
  return error;
}

/** Calls what the page meant to call; an error looks as if it had. */
export function call<T>(native: Fn, self: unknown, args: readonly unknown[]): T {
  try {
    return apply(native, self as never, args) as T;
  } catch (error) {
    throw clean(error);
  }
}

/** What stands in for a native function: its receiver and arguments, as the page passed them. */
type Run = (self: unknown, args: readonly unknown[]) => unknown;

/**
 * Puts a hook in the place of a method, with the property's own attributes; does nothing where there is
 * none. A proxy has name, length and own properties of what it stands for, and is native code to every
 * realm that asks for its source. Returns what takes the hook away again, unless the page has put something else there.
 */
export function hookMethod(owner: object, name: string, make: (native: Fn) => Run): () => void {
  const descriptor = getOwnPropertyDescriptor(owner, name);
  if (typeof descriptor?.value !== 'function' || descriptor.configurable !== true) return () => undefined;
  const native = descriptor.value as Fn;
  const run = make(native);
  const hook = new Proxy(native, { apply: (_, self: unknown, args: unknown[]) => run(self, args) });
  originals.set(hook, native);
  defineProperty(owner, name, { ...descriptor, value: hook });
  return () => {
    if (getOwnPropertyDescriptor(owner, name)?.value === hook) defineProperty(owner, name, descriptor);
  };
}

/** Has `made` called with every object that a constructor makes, those of subclasses too. */
export function hookConstructor(
  owner: object,
  name: string,
  made: (instance: object, args: readonly unknown[]) => void,
): void {
  const descriptor = getOwnPropertyDescriptor(owner, name);
  if (typeof descriptor?.value !== 'function' || descriptor.configurable !== true) return;
  const native = descriptor.value as (new (...args: unknown[]) => object) & Fn;
  const hook = new Proxy(native, {
    construct(_, args: unknown[], newTarget) {
      let instance: object;
      try {
        instance = construct(native, args, newTarget) as object;
      } catch (error) {
        throw clean(error);
      }
      try {
        made(instance, args);
      } catch {
        // what cannot be watched works all the same
      }
      return instance;
    },
  });
  originals.set(hook, native);
  const back = getOwnPropertyDescriptor(native.prototype, 'constructor');
  if (back?.configurable === true) defineProperty(native.prototype, 'constructor', { ...back, value: hook });
  defineProperty(owner, name, { ...descriptor, value: hook });
}

/** Functions tell their source: those here tell that of the browser's own. */
export function hideSources(): void {
  hookMethod(
    Function.prototype,
    'toString',
    (native) => (self, args) => call(native, original(self) ?? self, args),
  );
}
