/** Calls of the page to its console. */
import type { Channel } from './channel';
import { describe, format, isError } from './describe';
import { call, hookMethod } from './disguise';
import { watchLeaving } from './leaving';
import { append, now, slice } from './natives';
import { MAX_STACK, MAX_TEXT } from './records';
import { here, ofLogged } from './stack';

const levels: Record<string, string> = {
  log: 'log',
  info: 'info',
  debug: 'debug',
  warn: 'warning',
  error: 'error',
  assert: 'error',
  trace: 'log',
  dir: 'log',
  dirxml: 'log',
  table: 'log',
  group: 'log',
  groupCollapsed: 'log',
};

/** Only these tell where they were called: for the many others it would cost too much. */
const withStack = new Set(['warn', 'error', 'assert', 'trace']);

/** Records what the page logs. */
export function hookConsole(channel: Channel): void {
  hook(channel, Object.keys(levels));
}

/**
 * Records the errors and warnings that the page logs while it is left, of which no debugger hears. The console is the
 * browser's own until then.
 */
export function witnessConsole(channel: Channel): void {
  let unhook = (): void => undefined;
  watchLeaving(channel, (leaving) => {
    unhook();
    unhook = leaving ? hook(channel, ['error', 'warn', 'assert']) : () => undefined;
  });
}

/** Records the calls of methods of the console, until the function that comes back is called. */
function hook(channel: Channel, names: readonly string[]): () => void {
  const unhook: (() => void)[] = [];
  let busy = false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const level = levels[name] as string;
    const stacked = withStack.has(name);
    const record = (args: readonly unknown[]): void => {
      // What is logged by what is looked at (a proxy's trap) is not looked at in turn.
      if (!channel.recording || busy) return;
      busy = true;
      try {
        const all = name === 'assert' ? asserted(args) : name === 'dir' ? describe(args[0]) : format(args);
        const text = all.length > MAX_TEXT ? slice(all, 0, MAX_TEXT) : all;
        const length = all.length > MAX_TEXT ? all.length : 0;
        const error = stacked ? loggedStack(args) : '';
        channel.add(['log', now(), level, text, length, stacked ? here() : '', error]);
      } catch {
        // the page's call goes on
      } finally {
        busy = false;
      }
    };
    const undo = hookMethod(console, name, (native) => (self, args) => {
      if (name !== 'assert' || !args[0]) record(args);
      return call(native, self, args);
    });
    append(unhook, undo);
  }
  return () => {
    for (let i = 0; i < unhook.length; i++) unhook[i]?.();
  };
}

/** The stack of the first error among the arguments that has one; frameworks log an error among texts. */
function loggedStack(args: readonly unknown[]): string {
  for (let i = 0; i < args.length; i++) {
    const value = args[i];
    const stack = isError(value) ? ofLogged(value) : '';
    if (stack !== '') return slice(stack, 0, MAX_STACK);
  }
  return '';
}

function asserted(args: readonly unknown[]): string {
  const rest: unknown[] = [];
  for (let i = 1; i < args.length; i++) append(rest, args[i]);
  return rest.length === 0 ? 'Assertion failed' : `Assertion failed: ${format(rest)}`;
}
