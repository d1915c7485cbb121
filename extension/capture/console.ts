/** Console calls, uncaught errors and the browser's own log entries, as events. */
import type { Protocol } from 'devtools-protocol';
import type { AnyEvent, ConsoleEvent } from '../protocol';
import { describe, errorHead, formatArguments } from './console-format';
import { redactText, redactURL } from './redact';
import type { Where } from './source';
import { count, cutUnits } from './text';

/** The longest text of a console event, in UTF-16 units. */
const MAX_TEXT = 8 << 10;
/** What is looked at for secrets before cutting, so that none is cut in two. */
const MAX_LOOKED_AT = 16 << 10;
const MAX_FRAMES = 10;

type Level = ConsoleEvent['level'];
type Console = Extract<AnyEvent, { kind: 'console' }>;
type StackTrace = Protocol.Runtime.StackTrace;

const levels: Partial<Record<Protocol.Runtime.ConsoleAPICalledEvent['type'], Level>> = {
  error: 'error',
  assert: 'error',
  warning: 'warning',
  info: 'info',
  debug: 'debug',
};

/** Calls that show nothing in a console. */
const silent = new Set(['clear', 'endGroup', 'profile', 'profileEnd']);

/** A call of the page to its console; undefined for one that shows nothing. */
export function consoleCall(call: Protocol.Runtime.ConsoleAPICalledEvent, where: Where): Console | undefined {
  if (silent.has(call.type)) return undefined;
  let text = formatArguments(call.args);
  if (call.type === 'assert')
    text = text === 'console.assert' ? 'Assertion failed' : `Assertion failed: ${text}`;
  return build(where, call.timestamp, text, call.stackTrace, {
    level: levels[call.type] ?? 'log',
    via: 'console',
  });
}

/** An error that nobody caught, or a rejection that nobody handled. */
export function exception(thrown: Protocol.Runtime.ExceptionThrownEvent, where: Where): Console {
  const { exceptionDetails: details, timestamp } = thrown;
  const frame: Frame = {
    functionName: '',
    url: details.url ?? '',
    lineNumber: details.lineNumber,
    columnNumber: details.columnNumber,
  };
  return build(
    where,
    timestamp,
    exceptionText(details),
    details.stackTrace,
    {
      level: 'error',
      via: details.text.includes('(in promise)') ? 'rejection' : 'exception',
    },
    frame,
  );
}

function exceptionText({ text, exception }: Protocol.Runtime.ExceptionDetails): string {
  if (exception === undefined) return text.replace(/^Uncaught (?:\(in promise\) )?/, '');
  if (exception.subtype === 'error') return errorHead(exception.description ?? 'Error');
  return describe(exception);
}

/** An entry of the browser's own. `request` is the network request that it speaks of. */
export function logEntry(entry: Protocol.Log.LogEntry, where: Where, request?: string): Console {
  const url = entry.url ?? '';
  const frame: Frame = {
    functionName: '',
    url,
    lineNumber: entry.lineNumber ?? -1,
    columnNumber: -1,
  };
  const id = request ?? entry.networkRequestId;
  return build(
    where,
    entry.timestamp,
    entry.text,
    entry.stackTrace,
    {
      level: entry.level === 'verbose' ? 'debug' : entry.level,
      via: 'browser',
      category: entry.source,
      ...(id !== undefined && { request: id }),
    },
    frame,
  );
}

type Frame = Pick<Protocol.Runtime.CallFrame, 'functionName' | 'url' | 'lineNumber' | 'columnNumber'>;

function build(
  { tab, target }: Where,
  at: number,
  raw: string,
  trace: StackTrace | undefined,
  what: Pick<Console, 'level' | 'via' | 'category' | 'request'>,
  fallback?: Frame,
): Console {
  const clean = redactText(raw.length > MAX_LOOKED_AT ? cutUnits(raw, MAX_LOOKED_AT) : raw);
  const text = cutUnits(clean.text, MAX_TEXT);
  const frames = trace?.callFrames ?? [];
  const top = frames[0] ?? fallback;
  const url = redactURL(top?.url ?? '');
  const stack = frames.slice(0, MAX_FRAMES).map(frameLine);
  const event: Console = { kind: 'console', at: Math.floor(at), tab, ...what, text };
  const masked = clean.masked + url.masked;
  if (masked > 0) event.masked = masked;
  if (text.length < clean.text.length || raw.length > MAX_LOOKED_AT) event.length = raw.length;
  if (top !== undefined && url.text !== '') {
    event.url = url.text;
    Object.assign(event, count('line', top.lineNumber + 1), count('column', top.columnNumber + 1));
  }
  if (stack.length > 0) event.stack = stack;
  if (target !== undefined) event.target = target;
  return event;
}

function frameLine({ functionName, url, lineNumber, columnNumber }: Frame): string {
  return `${functionName || '(anonymous)'} (${redactURL(url).text}:${lineNumber + 1}:${columnNumber + 1})`;
}
