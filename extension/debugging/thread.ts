/** The threads of a tab under the debugger: the page, frames of other processes and workers. */
import type { Protocol } from 'devtools-protocol';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping';
import {
  type DebugCaller,
  type DebugNames,
  type DebugResumed,
  PauseAsked,
  PauseBreakpoint,
  PauseException,
  PauseOther,
  PauseRejection,
  PauseStep,
} from '../protocol';

/** The commands of the debugger protocol. */
export type Commands = ProtocolMapping.Commands;

/** A target that a session speaks to. */
export interface Target {
  /** 1 for the page; never given again in the life of the tab. */
  readonly id: number;
  readonly session: string | undefined;
  readonly kind: string;
  url: string;
}

/** A script that a thread has parsed. */
export interface Script {
  readonly url: string;
  /** Its reference to a source map; empty if none. */
  readonly map: string;
  /** Where it starts in its file, counted from 0: a script may be inline in a document. */
  readonly line: number;
  readonly column: number;
  /** Whether it runs in a world beside the page's own. */
  readonly isolated: boolean;
  /** Its length in UTF-16 units; 0 for code that only says that its address is this one (`sourceURL`). */
  readonly length: number;
}

/** The pause of a thread. */
export interface Paused {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** One of the protocol's Pause constants. */
  readonly reason: string;
  /** The agents whose doing it is; empty for the page's own and another debugger's. */
  by: string;
  /** The clients whose doing it is, as long as they have not left. */
  readonly owners: Set<number>;
  /** The ids of the breakpoints that were hit. */
  hit: readonly string[];
  readonly data: Protocol.Debugger.PausedEvent['data'];
  readonly callFrames: readonly Protocol.Debugger.CallFrame[];
  readonly asyncStackTrace: Protocol.Runtime.StackTrace | undefined;
  /** Function and line of the top frame, empty if there is none; undefined until the host has named the line. */
  place: string | undefined;
}

/** One thread of a tab. */
export interface Thread extends Target {
  readonly scripts: Map<string, Script>;
  paused: Paused | undefined;
  resumed: DebugResumed | undefined;
  /** What the agent asked for and waits to come about. */
  asked: 'pause' | 'step' | undefined;
  /** The client that asked. */
  asker: number;
  /** Whether a pause is still to come about that nobody waits for: its client has left, or its step was ended. */
  unwanted: boolean;
  /** Why the next resume comes; undefined when it is another debugger's doing. */
  resuming: string | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Until when its document is about to be left and is not paused again; 0 if it is not. */
  leaving: number;
  /** Whether the browser may pause it at exceptions: until it has confirmed that it no longer does. */
  exceptions: boolean;
}

/** Gives up a pause that was asked for. The browser would still bring it about, in whatever runs next. */
export function giveUp(thread: Thread): void {
  thread.asked = undefined;
  thread.unwanted = true;
}

/** What happens in a session. `changed` comes with every pause and resume. */
export type DebugEvent =
  | { type: 'paused' | 'resumed'; thread: Thread }
  | { type: 'thread' | 'gone'; thread: Thread }
  | { type: 'ended' };

/** Which exceptions pause. */
export type Exceptions = 'none' | 'uncaught' | 'all';

/** A session as its parts see it: its threads, and how to reach them. */
export interface Threads {
  readonly threads: ReadonlyMap<number, Thread>;
  /** Who asked last, and for how long a pause may last. */
  readonly caller: DebugCaller;
  /** Sends a command of the debugger protocol to a thread. */
  send<C extends keyof Commands>(
    thread: Pick<Thread, 'session'>,
    method: C,
    params?: Commands[C]['paramsType'][0],
  ): Promise<Commands[C]['returnType']>;
  /** What identifiers of a script were called; nothing is known where the host cannot say. */
  names(script: Script, places: readonly number[]): Promise<DebugNames>;
  /** Reports what happens to a listener; the function that comes back ends that. */
  on(listener: (event: DebugEvent) => void): () => void;
}

/** Whether a pause has a reason beside breakpoints, steps and what the agent asked for. */
export function otherReason({ reason }: Protocol.Debugger.PausedEvent): boolean {
  return reason !== 'other' && reason !== 'step' && reason !== 'ambiguous';
}

/** Why a thread is paused: one of the protocol's Pause constants. */
export function reasonOf(
  { reason }: Protocol.Debugger.PausedEvent,
  hit: readonly string[],
  asked: Thread['asked'],
): string {
  if (reason === 'exception') return PauseException;
  if (reason === 'promiseRejection') return PauseRejection;
  if (hit.length > 0) return PauseBreakpoint;
  if (asked === 'step') return PauseStep;
  return asked === 'pause' ? PauseAsked : PauseOther;
}
