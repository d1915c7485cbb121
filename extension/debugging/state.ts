/** The state of a debug session as sent to the host; texts of the page are masked. */
import type { Protocol } from 'devtools-protocol';
import { CUT } from '../page/records';
import type { DebugFrame, DebugPause, DebugState, DebugThread } from '../protocol';
import { redactCut, redactURL } from '../redact/redact';
import type { DebugSession } from './session';
import type { Paused, Target, Thread } from './thread';

const MAX_FRAMES = 50;
const MAX_TEXT = 1000;

/** The state of a tab that is not being debugged: its threads. */
export function idleState(targets: Iterable<Target>): DebugState {
  return { threads: [...targets].map(({ id, kind, url }) => ({ id, kind, url: redactURL(url).text })) };
}

/** The state of a session. */
export function sessionState(session: DebugSession): DebugState {
  const threads = [...session.threads.values()].map(threadState);
  const failed = [...session.breakpoints.all.values()].flatMap(({ id, failed }) =>
    failed === undefined ? [] : [{ id, error: shorten(failed.error), count: failed.count }],
  );
  return {
    active: true,
    session: session.began,
    threads,
    ...(session.gone.length > 0 && { gone: session.gone.map(threadState) }),
    ...(failed.length > 0 && { failed }),
  };
}

function threadState({ id, kind, url, paused, resumed }: Thread): DebugThread {
  return {
    id,
    kind,
    url: redactURL(url).text,
    ...(paused !== undefined && { paused: pauseState(paused) }),
    ...(resumed !== undefined && { resumed }),
  };
}

function pauseState({ at, reason, by, hit, data, callFrames, asyncStackTrace }: Paused): DebugPause {
  const frames = [...callFrames.map(frameState), ...asyncFrames(asyncStackTrace)];
  const text = exceptionText(data);
  return {
    at,
    reason,
    ...(by !== '' && { by }),
    ...(hit.length > 0 && { hit: [...hit] }),
    ...(text !== '' && { text }),
    frames: frames.slice(0, MAX_FRAMES),
    ...(frames.length > MAX_FRAMES && { more: frames.length - MAX_FRAMES }),
  };
}

/** The position of a frame. */
export function frameState({
  functionName,
  functionLocation,
  location,
  url,
}: Protocol.Debugger.CallFrame): DebugFrame {
  return {
    ...(functionName !== '' && { function: functionName }),
    url,
    line: location.lineNumber + 1,
    column: (location.columnNumber ?? 0) + 1,
    ...(functionLocation !== undefined && {
      name_line: functionLocation.lineNumber + 1,
      name_column: (functionLocation.columnNumber ?? 0) + 1,
    }),
  };
}

function asyncFrames(trace: Protocol.Runtime.StackTrace | undefined): DebugFrame[] {
  const frames: DebugFrame[] = [];
  for (let at = trace; at !== undefined; at = at.parent) {
    at.callFrames.forEach(({ functionName, url, lineNumber, columnNumber }, i) => {
      frames.push({
        ...(functionName !== '' && { function: functionName }),
        url,
        line: lineNumber + 1,
        column: columnNumber + 1,
        ...(i === 0 && { async: at?.description || 'async' }),
      });
    });
  }
  return frames;
}

/** What the browser says of an exception. */
function exceptionText(data: Paused['data']): string {
  const { description, value } = (data ?? {}) as { description?: unknown; value?: unknown };
  const text = typeof description === 'string' ? description : value === undefined ? '' : String(value);
  return shorten(text.split('\n', 1)[0] ?? '');
}

/** A text of the page, without secrets and not too long. */
export function shorten(text: string): string {
  const part = text.length > 4 * MAX_TEXT;
  const { text: clean } = redactCut(part ? text.slice(0, 4 * MAX_TEXT) + CUT : text);
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean;
}
