/** Console calls, uncaught errors and the browser's own log entries, as events. */
import type { Protocol } from 'devtools-protocol';
import {
  CUT,
  type LogRecord,
  type NoteRecord,
  type ResourceRecord,
  type ThrownRecord,
} from '../../page/records';
import { type AnyEvent, type ConsoleEvent, MaxStack, MaxText } from '../../protocol';
import { redactCut, redactURL } from '../../redact/redact';
import { UNNAMED_IMPORT, unusable } from '../page-records';
import type { Where } from '../source';
import { errorFrames, type Frame, frameLine, pageFrames, parseStack } from '../stack';
import { count, cutUnits } from '../text';
import { describe, errorText, formatArguments } from './format';

/** What is looked at for secrets before cutting, so that none is cut in two. */
const MAX_LOOKED_AT = 16 << 10;

type Level = ConsoleEvent['level'];
export type Console = Extract<AnyEvent, { kind: 'console' }>;

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
  const what = { level: levels[call.type] ?? 'log', via: 'console' } as const;
  const { frames, logged } = located(loggedStack(call.args), errorFrames(call.stackTrace));
  return build(where, call.timestamp, text, frames, what, { logged });
}

/** The stack of the first error among the arguments that has one: frameworks log an error among texts. */
function loggedStack(args: readonly Protocol.Runtime.RemoteObject[]): Frame[] {
  for (const { subtype, description } of args) {
    if (subtype !== 'error' || description === undefined) continue;
    const frames = parseStack(description.slice(0, MAX_LOOKED_AT));
    if (frames.length > 0) return frames;
  }
  return [];
}

/** Where an entry is: at the stack of the error that the call logged, else at the call. */
function located(
  error: readonly Frame[],
  call: readonly Frame[] | undefined,
): { frames: readonly Frame[] | undefined; logged?: Frame | undefined } {
  if (error.length === 0) return { frames: call };
  return { frames: error, logged: pageFrames(call)[0] };
}

/** An uncaught error or an unhandled rejection. */
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
    errorFrames(details.stackTrace),
    {
      level: 'error',
      via: isRejection(details.text) ? 'rejection' : 'exception',
    },
    { fallback: hasPlace(details) ? frame : undefined },
  );
}

/**
 * Whether the browser knows where an error was thrown. Of one that no script threw, and of a promise that the browser's own code
 * rejected, such as that of `response.json()`, it names the first line of the document.
 */
function hasPlace({ scriptId, text, lineNumber, columnNumber }: Protocol.Runtime.ExceptionDetails): boolean {
  return (scriptId !== undefined && !isRejection(text)) || lineNumber > 0 || columnNumber > 0;
}

const isRejection = (text: string): boolean => text.includes('(in promise)');

function exceptionText({ text, exception }: Protocol.Runtime.ExceptionDetails): string {
  if (exception === undefined) return text.replace(/^Uncaught (?:\(in promise\) )?/, '');
  if (exception.subtype === 'error') return errorText(exception);
  return describe(exception);
}

/** An entry of the browser's log. `request` is the network request that it is about. */
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
    entry.stackTrace?.callFrames,
    {
      level: entry.level === 'verbose' ? 'debug' : entry.level,
      via: 'browser',
      category: entry.source,
      ...(id !== undefined && { request: id }),
    },
    { fallback: frame },
  );
}

/** A console call of the page or a complaint of the browser, as reported by the hooks. */
export function pageEntry(record: LogRecord | NoteRecord, where: Where): Console {
  if (record[0] === 'log') {
    const [, at, level, text, length, stack, error = ''] = record;
    const what = { level: level as Level, via: 'console' } as const;
    const { frames, logged } = located(parseStack(error), parseStack(stack));
    return build(where, at, text, frames, what, { logged, whole: length });
  }
  const [, at, source, level, text, url, line, column] = record;
  const what = { level, via: 'browser', category: source } as const;
  return build(where, at, text, undefined, what, { fallback: place(url, line, column) });
}

/**
 * An element that could not use what arrived, of the MIME type `mime` if that is known. It is not named where its style
 * sheet may be one of several of which an import failed.
 */
export function unusableEntry(record: ResourceRecord, mime: string, where: Where, named = true): Console {
  const what = { level: 'error', via: 'browser', category: 'other' } as const;
  return build(where, record[1], named ? unusable(record, mime) : UNNAMED_IMPORT, undefined, what);
}

/** An uncaught error or an unhandled rejection, as reported by the hooks. */
export function pageThrown(record: ThrownRecord, where: Where): Console {
  const [, at, via, text, length, url, line, column, stack] = record;
  const more = { fallback: place(url, line, column), whole: length };
  return build(where, at, text, parseStack(stack), { level: 'error', via }, more);
}

function place(url: string, line: number, column: number): Frame {
  return { functionName: '', url, lineNumber: line - 1, columnNumber: column - 1 };
}

/** What else is known of an entry. */
interface More {
  /** Where it is, if there is no stack. */
  fallback?: Frame | undefined;
  /** The call that logged the error whose stack it is. */
  logged?: Frame | undefined;
  /** The full length of its text; 0 if the text is whole. */
  whole?: number;
}

function build(
  { tab, target, left }: Where,
  at: number,
  raw: string,
  trace: readonly Frame[] | undefined,
  what: Pick<Console, 'level' | 'via' | 'category' | 'request'>,
  { fallback, logged, whole = raw.length }: More = {},
): Console {
  const part = raw.length > MAX_LOOKED_AT || whole > raw.length;
  const clean = redactCut(part ? cutUnits(raw, MAX_LOOKED_AT) + CUT : raw);
  const text = cutUnits(clean.text, MaxText);
  const frames = pageFrames(trace);
  const top = frames[0] ?? fallback;
  const url = redactURL(top?.url ?? '');
  const stack = frames.slice(0, MaxStack).map(frameLine);
  const event: Console = { kind: 'console', at: Math.floor(at), tab, ...what, text };
  const masked = clean.masked + url.masked;
  if (masked > 0) event.masked = masked;
  const length = Math.max(whole, raw.length);
  if (text.length < clean.text.length || length > MAX_LOOKED_AT) event.length = length;
  if (top !== undefined && url.text !== '') {
    event.url = url.text;
    Object.assign(event, count('line', top.lineNumber + 1), count('column', top.columnNumber + 1));
  }
  if (stack.length > 0) event.stack = stack;
  if (logged !== undefined) event.logged = frameLine(logged);
  if (target !== undefined) event.target = target;
  if (left === true) event.left = true;
  return event;
}
