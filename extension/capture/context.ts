/** What the trackers of one tab share. */
import type { Protocol } from 'devtools-protocol';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping';
import type { Emit, Target } from './source';

/**
 * One debugger session of a tab: its page (neither id nor target), an iframe or worker of its own process, or a
 * shared worker, which is attached to as a target of its own (no id).
 */
export interface Session {
  readonly id?: string | undefined;
  readonly target?: Target | undefined;
  /** The id of the target that the session speaks to; absent for the page itself. */
  readonly targetId?: string | undefined;
}

export type Command = keyof ProtocolMapping.Commands;
export type Params<C extends Command> = ProtocolMapping.Commands[C]['paramsType'][0];
export type Result<C extends Command> = ProtocolMapping.Commands[C]['returnType'];

/** Sends a debugger command to one session. */
export type Send = <C extends Command>(
  session: Session,
  command: C,
  params?: Params<C>,
) => Promise<Result<C>>;

/** Given to each tracker of a tab. */
export interface TabContext {
  readonly tab: number;
  readonly emit: Emit;
  readonly send: Send;
  readonly clock: MonotonicClock;
}

/**
 * Turns the debugger's monotonic seconds into milliseconds since the epoch. Chromium tells both only
 * when a request begins; until then, the present is taken.
 */
export class MonotonicClock {
  readonly #now: () => number;
  #offset: number | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  learn(monotonic: number, wall: Protocol.Network.TimeSinceEpoch): void {
    this.#offset = wall - monotonic;
  }

  at(monotonic: number): number {
    return this.#offset === undefined ? this.#now() : Math.floor((this.#offset + monotonic) * 1000);
  }

  now(): number {
    return this.#now();
  }
}
