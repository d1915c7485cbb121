/** Calls of the page to its console. */
import type { Channel } from './channel';
import { describe, format, isError } from './describe';
import { call, hookMethod } from './disguise';
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
  let busy = false;
  for (const name of Object.keys(levels)) {
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
    hookMethod(console, name, (native) => (self, args) => {
      if (name !== 'assert' || !args[0]) record(args);
      return call(native, self, args);
    });
  }
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
