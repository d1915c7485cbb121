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

/** How much later than its own clock says an event may arrive. After that, the machine was suspended in between. */
const LATE_MS = 10_000;

/** What sums of seconds may lack of a whole millisecond. */
const ROUNDING = 0.001;

/**
 * Turns the debugger's monotonic seconds into milliseconds since the epoch. Chromium tells both only
 * when a request begins; until then, the present is taken. The debugger's clock may stand still while the
 * machine is suspended: the first event after that is taken for one of the present.
 */
export class MonotonicClock {
  readonly #now: () => number;
  /** When both were known last: the debugger's time, the wall's, and when that arrived. */
  #known: { monotonic: number; wall: number; arrived: number } | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  learn(monotonic: number, wall: Protocol.Network.TimeSinceEpoch): void {
    this.#known = { monotonic, wall, arrived: this.#now() };
  }

  at(monotonic: number): number {
    const now = this.#now();
    if (this.#known === undefined) return now;
    const passed = monotonic - this.#known.monotonic;
    if (now - this.#known.arrived > passed * 1000 + LATE_MS) {
      this.#known = { monotonic, wall: now / 1000, arrived: now };
      return now;
    }
    return Math.floor((this.#known.wall + passed) * 1000 + ROUNDING);
  }

  now(): number {
    return this.#now();
  }
}
