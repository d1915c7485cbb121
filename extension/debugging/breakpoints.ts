/**
 * The breakpoints of a debug session. The browser takes one at a place of a thread's code; any number of ours may share
 * it, each with its own condition.
 */
import type { Protocol } from 'devtools-protocol';
import { CodedError } from '../coded-error';
import { CodeInvalid, type DebugBreakpoint, type DebugLocation, type DebugPlace } from '../protocol';
import { redactText } from '../redact/redact';
import { FrameReader } from './inspect/frame-reader';
import type { Thread, Threads } from './thread';

/** A breakpoint whose condition threw. */
export interface Failed {
  error: string;
  count: number;
}

export interface Breakpoint extends DebugBreakpoint {
  hits: number;
  failed: Failed | undefined;
}

/** A breakpoint at which the page does not stay paused: what happens there before it resumes. */
export interface Probe {
  locations: readonly Protocol.Debugger.Location[];
  hit(event: Protocol.Debugger.PausedEvent): Promise<void>;
}

/** A tracepoint, as a script that waits to run sees it. */
export interface Movable {
  readonly original: boolean;
  /** Sets it at new places. */
  move(places: readonly DebugPlace[]): Promise<void>;
}

/** One breakpoint of the browser's. */
interface Spot {
  /** The browser's id of it, once it has answered. */
  readonly placed: Promise<string>;
  /** The ids of those that share it. */
  readonly wanted: Set<string>;
}

/** Where the browser is asked to pause; lines and columns are counted from 0. */
interface Spotted {
  readonly lineNumber: number;
  readonly columnNumber?: number;
}

/** What is set in a thread. */
interface Placed {
  /** By what was asked for. */
  readonly spots: Map<string, Spot>;
  /** By the browser's id. */
  readonly known: Map<string, Spot>;
  readonly locations: Map<string, DebugLocation[]>;
  readonly probes: Map<string, Probe>;
  instrumentation: string | undefined;
}

/** What came of a pause at breakpoints of ours. */
export interface Hits {
  /** Those for which the page stays paused. */
  readonly hit: string[];
  /** Whether any of ours, a probe too, was there at all: also one that the browser has yet to remove. */
  readonly own: boolean;
}

/** The breakpoints, as the browser has them in each thread. */
export class Breakpoints {
  readonly all = new Map<string, Breakpoint>();
  /** The tracepoints, by the host's id. */
  readonly #traces = new Map<string, Movable>();
  readonly #session: Threads;
  readonly #placed = new WeakMap<Thread, Placed>();

  constructor(session: Threads) {
    this.#session = session;
  }

  #in(thread: Thread): Placed {
    let placed = this.#placed.get(thread);
    if (placed === undefined) {
      placed = {
        spots: new Map(),
        known: new Map(),
        locations: new Map(),
        probes: new Map(),
        instrumentation: undefined,
      };
      this.#placed.set(thread, placed);
    }
    return placed;
  }

  /** Sets all in a new thread; what is sent is sent before this returns. */
  begin(thread: Thread): Promise<unknown>[] {
    return [
      this.#instrument(thread),
      ...[...this.all.values()].map((breakpoint) => this.#place(thread, breakpoint)),
    ];
  }

  /** Sets a breakpoint in every thread, or moves the one of the same id. */
  async set(wanted: DebugBreakpoint): Promise<void> {
    const before = this.all.get(wanted.id);
    const breakpoint: Breakpoint = { ...wanted, hits: before?.hits ?? 0, failed: before?.failed };
    const threads = [...this.#session.threads.values()];
    this.all.set(wanted.id, breakpoint);
    if (before !== undefined) {
      if (JSON.stringify(before.places) === JSON.stringify(wanted.places)) return;
      await Promise.all(threads.map((thread) => this.#unset(thread, wanted.id)));
    }
    await Promise.all(threads.map((thread) => this.#instrument(thread).catch(ignore)));
    await Promise.all(threads.map((thread) => this.#place(thread, breakpoint)));
  }

  /** Makes sure that a condition is one expression. It is not run. */
  async checkCondition(condition: string): Promise<void> {
    const page = this.#session.threads.get(1) ?? [...this.#session.threads.values()][0];
    if (page === undefined) return;
    const { exceptionDetails } = await this.#session.send(page, 'Runtime.evaluate', {
      expression: `(() => { return (${condition}\n) })`,
      silent: true,
      throwOnSideEffect: true,
    });
    if (exceptionDetails === undefined) return;
    const { exception, text } = exceptionDetails;
    const why = (exception?.description ?? text).split('\n', 1)[0] ?? '';
    throw new CodedError(CodeInvalid, `The condition cannot be parsed: ${redactText(why).text}.`);
  }

  /** Removes a breakpoint. */
  async remove(id: string): Promise<void> {
    const takeOut = this.forget([id]);
    await Promise.all([...this.#session.threads.values()].map(takeOut));
  }

  /** Removes breakpoints. The function that comes back resolves when the browser has taken them out of a thread. */
  forget(ids: readonly string[]): (thread: Thread) => Promise<void> {
    for (const id of ids) this.all.delete(id);
    return async (thread) => {
      await Promise.all([
        ...ids.map((id) => this.#unset(thread, id)),
        this.#instrument(thread).catch(ignore),
      ]);
    };
  }

  /** Has new scripts be checked for a tracepoint; the function that comes back ends that. */
  async follow(id: string, trace: Movable): Promise<() => Promise<void>> {
    const instrument = async (): Promise<void> => {
      await Promise.all(
        [...this.#session.threads.values()].map((thread) => this.#instrument(thread).catch(ignore)),
      );
    };
    this.#traces.set(id, trace);
    await instrument();
    return async () => {
      this.#traces.delete(id);
      await instrument();
    };
  }

  /** Moves what has places in a script that waits to run. */
  async move(moved: DebugBreakpoint): Promise<void> {
    const trace = this.#traces.get(moved.id);
    if (trace !== undefined) await trace.move(moved.places);
    else if (this.all.has(moved.id)) await this.set(moved);
  }

  async #unset(thread: Thread, id: string): Promise<void> {
    const { spots, known, locations } = this.#in(thread);
    for (const [key, spot] of [...spots]) {
      if (!spot.wanted.delete(id) || spot.wanted.size > 0) continue;
      spots.delete(key);
      const breakpointId = await spot.placed.catch(() => '');
      known.delete(breakpointId);
      locations.delete(breakpointId);
      await this.#session.send(thread, 'Debugger.removeBreakpoint', { breakpointId }).catch(ignore);
    }
  }

  /** The locations of a breakpoint in all threads. */
  locations(id: string): DebugLocation[] {
    return [...this.#session.threads.values()].flatMap((thread) => {
      const { known, locations } = this.#in(thread);
      return [...known].flatMap(([placed, { wanted }]) =>
        wanted.has(id) ? (locations.get(placed) ?? []) : [],
      );
    });
  }

  /** Has scripts with source maps wait as long as a breakpoint needs it. */
  async #instrument(thread: Thread): Promise<void> {
    const placed = this.#in(thread);
    const wanted = [...this.all.values(), ...this.#traces.values()].some(({ original }) => original === true);
    if (wanted === (placed.instrumentation !== undefined)) return;
    if (wanted) {
      placed.instrumentation = '';
      const { breakpointId } = await this.#session.send(thread, 'Debugger.setInstrumentationBreakpoint', {
        instrumentation: 'beforeScriptWithSourceMapExecution',
      });
      placed.instrumentation = breakpointId;
      return;
    }
    const id = placed.instrumentation;
    placed.instrumentation = undefined;
    if (id) await this.#session.send(thread, 'Debugger.removeBreakpoint', { breakpointId: id });
  }

  async #place(thread: Thread, breakpoint: Breakpoint): Promise<void> {
    // Where a thread goes away in between, there is nothing to set.
    await Promise.all(
      breakpoint.places.map((place) => this.#placeOne(thread, breakpoint.id, place).catch(ignore)),
    );
  }

  async #placeOne(thread: Thread, id: string, place: DebugPlace): Promise<void> {
    const { spots, known } = this.#in(thread);
    const script = scriptAt(thread, place);
    const at = script === undefined ? asked(place) : await this.#firstBreak(thread, script, place);
    const key = `${place.url || place.pattern}:${at.lineNumber}:${at.columnNumber}`;
    let spot = spots.get(key);
    if (spot === undefined) {
      const where = place.pattern ? { urlRegex: place.pattern } : { url: place.url ?? '' };
      const made: Spot = {
        wanted: new Set([id]),
        placed: this.#session
          .send(thread, 'Debugger.setBreakpointByUrl', { ...where, ...at })
          .then(({ breakpointId, locations }) => {
            known.set(breakpointId, made);
            this.#stands(thread, breakpointId, locations);
            return breakpointId;
          }),
      };
      spot = made;
      spots.set(key, spot);
    }
    spot.wanted.add(id);
    try {
      await spot.placed;
    } catch (error) {
      if (spots.get(key) === spot) spots.delete(key);
      throw error;
    }
  }

  /** The first place of a range where the browser can pause. */
  async #firstBreak(thread: Thread, scriptId: string, place: DebugPlace): Promise<Spotted> {
    const { line, column = 1, end_line, end_column = 1 } = place;
    const start = { scriptId, lineNumber: line - 1, columnNumber: column - 1 };
    const end = end_line
      ? { scriptId, lineNumber: end_line - 1, columnNumber: end_column - 1 }
      : { scriptId, lineNumber: line, columnNumber: 0 };
    try {
      const { locations } = await this.#session.send(thread, 'Debugger.getPossibleBreakpoints', {
        start,
        end,
      });
      const first = locations[0];
      if (first === undefined) return asked(place);
      const { lineNumber, columnNumber } = first;
      return { lineNumber, ...(columnNumber !== undefined && { columnNumber }) };
    } catch {
      return asked(place); // the script no longer exists
    }
  }

  /** The browser has found code for one that waited. */
  resolved(thread: Thread, { breakpointId, location }: Protocol.Debugger.BreakpointResolvedEvent): void {
    const probe = this.#in(thread).probes.get(breakpointId);
    if (probe !== undefined) probe.locations = [...probe.locations, location];
    else this.#stands(thread, breakpointId, [location]);
  }

  #stands(thread: Thread, breakpointId: string, found: readonly Protocol.Debugger.Location[]): void {
    const { locations } = this.#in(thread);
    const list = locations.get(breakpointId) ?? [];
    for (const place of found) {
      const at = locationOf(thread, place);
      if (!list.some((other) => JSON.stringify(other) === JSON.stringify(at))) list.push(at);
    }
    locations.set(breakpointId, list);
  }

  /** What is to be done at a pause: conditions are looked at, hits counted, probes heard. */
  async hit(thread: Thread, event: Protocol.Debugger.PausedEvent): Promise<Hits> {
    const { known, probes, spots } = this.#in(thread);
    const placed = event.hitBreakpoints ?? [];
    // A hit may come before the answer to what set the breakpoint.
    if (placed.some((id) => !known.has(id) && !probes.has(id)))
      await Promise.allSettled([...spots.values()].map((spot) => spot.placed));
    const wanted = new Set(placed.flatMap((id) => [...(known.get(id)?.wanted ?? [])]));
    const hit: string[] = [];
    for (const id of wanted) {
      const breakpoint = this.all.get(id);
      if (breakpoint !== undefined && (await this.#conditionHolds(thread, breakpoint, event))) hit.push(id);
    }
    const heard = placed.flatMap((id) => probes.get(id) ?? []);
    for (const probe of heard) await probe.hit(event).catch(ignore);
    // The browser names to a debugger only what that debugger has set.
    return { hit, own: placed.length > 0 };
  }

  /** Counts a hit and returns whether the page pauses for it. */
  async #conditionHolds(
    thread: Thread,
    breakpoint: Breakpoint,
    event: Protocol.Debugger.PausedEvent,
  ): Promise<boolean> {
    const frame = event.callFrames[0];
    if (breakpoint.condition && frame !== undefined) {
      try {
        const { result, exceptionDetails } = await this.#session.send(
          thread,
          'Debugger.evaluateOnCallFrame',
          {
            callFrameId: frame.callFrameId,
            expression: `!!(${breakpoint.condition}\n)`,
            silent: true,
            returnByValue: true,
            throwOnSideEffect: this.#session.caller.evaluate !== true,
          },
        );
        if (exceptionDetails !== undefined) {
          const { exception, text } = exceptionDetails;
          const secret = await new FrameReader(this.#session, thread, frame).tellsSecret(
            breakpoint.condition,
          );
          const error = secret
            ? `${exception?.className ?? 'a value'} (its message may contain a secret)`
            : ((exception?.description ?? text).split('\n', 1)[0] ?? '');
          breakpoint.failed = { error, count: (breakpoint.failed?.count ?? 0) + 1 };
          return false;
        }
        if (result.value !== true) return false;
      } catch {
        return false; // the thread no longer exists
      }
    }
    breakpoint.hits++;
    return breakpoint.hits >= (breakpoint.hit_count ?? 1);
  }

  /**
   * Sets a breakpoint of the browser's with a condition of its own. The browser takes only one of the same address
   * and place; the name makes it another address.
   */
  async placeNamed(
    thread: Thread,
    place: DebugPlace,
    name: string,
    condition: string,
  ): Promise<Protocol.Debugger.SetBreakpointByUrlResponse> {
    const any = place.pattern || `^${(place.url ?? '').replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`;
    const script = scriptAt(thread, place);
    const spot = script === undefined ? asked(place) : await this.#firstBreak(thread, script, place);
    return await this.#session.send(thread, 'Debugger.setBreakpointByUrl', {
      urlRegex: `(?:${any})(?=|${name})`,
      ...spot,
      ...(condition !== '' && { condition }),
    });
  }

  /** Has something be done at a breakpoint of the browser's. */
  probe(thread: Thread, breakpointId: string, probe: Probe): void {
    this.#in(thread).probes.set(breakpointId, probe);
  }

  unprobe(thread: Thread, breakpointId: string): void {
    this.#in(thread).probes.delete(breakpointId);
  }

  /** The location of such a breakpoint. */
  probeLocations(thread: Thread, breakpointId: string): DebugLocation[] {
    return (this.#in(thread).probes.get(breakpointId)?.locations ?? [])
      .filter(({ scriptId }) => thread.scripts.has(scriptId)) // those of an earlier document are none
      .map((at) => locationOf(thread, at));
  }

  /**
   * Takes everything out of a thread. Turning the debugger off is not enough: who else holds the attachment would get
   * what is still set back with the next document.
   */
  clear(thread: Thread): void {
    const { known, probes, instrumentation } = this.#in(thread);
    this.#placed.delete(thread);
    for (const breakpointId of [
      ...known.keys(),
      ...probes.keys(),
      ...(instrumentation ? [instrumentation] : []),
    ])
      void this.#session.send(thread, 'Debugger.removeBreakpoint', { breakpointId }).catch(ignore);
  }
}

/** The newest script of a thread in which a place lies; undefined while it is still to come. */
function scriptAt(thread: Thread, { url, pattern }: DebugPlace): string | undefined {
  const matches = pattern ? new RegExp(pattern) : undefined;
  return [...thread.scripts]
    .reverse()
    .find(([, script]) => (matches === undefined ? script.url === url : matches.test(script.url)))?.[0];
}

/** A place as it was asked for. Nothing is waited for, so it is set in a new thread before that runs. */
function asked({ line, column }: DebugPlace): Spotted {
  return { lineNumber: line - 1, ...(column && { columnNumber: column - 1 }) };
}

function locationOf(
  thread: Thread,
  { scriptId, lineNumber, columnNumber = 0 }: Protocol.Debugger.Location,
): DebugLocation {
  const url = thread.scripts.get(scriptId)?.url ?? '';
  return { thread: thread.id, url, line: lineNumber + 1, column: columnNumber + 1 };
}

function ignore(): void {
  // The thread went away in between: there is nothing left to do for it.
}
