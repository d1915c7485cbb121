/**
 * One tab under the debugger: its threads, and what holds them. The page, frames of other processes and workers are
 * threads; each has a session of the browser's debugger protocol.
 */
import type { Protocol } from 'devtools-protocol';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping';
import { redactText } from '../capture/redact';
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  type DebugBreakpoint,
  type DebugCaller,
  type DebugLocation,
  type DebugPlace,
  type DebugResumed,
  PauseAsked,
  PauseBreakpoint,
  PauseException,
  PauseOther,
  PauseRejection,
  PauseStep,
  ResumedAgent,
  ResumedDebugger,
  ResumedGone,
  ResumedTime,
} from '../protocol';

type Commands = ProtocolMapping.Commands;

/** Sends a command to one session of the tab; undefined is the page's own. */
export type SendTo = (session: string | undefined, method: string, params?: object) => Promise<unknown>;

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
  /** What it says of its source map; empty when it has none. */
  readonly map: string;
  /** Where it begins in its file, counted from 0: a script may stand inside a document. */
  readonly line: number;
  readonly column: number;
}

/** Where a thread stands. */
export interface Paused {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** One of the protocol's Pause constants. */
  readonly reason: string;
  /** The agent whose doing it is; empty for the page's own and another debugger's. */
  readonly by: string;
  /** The ids of the breakpoints that were hit. */
  readonly hit: readonly string[];
  readonly data: Protocol.Debugger.PausedEvent['data'];
  readonly callFrames: readonly Protocol.Debugger.CallFrame[];
  readonly asyncStackTrace: Protocol.Runtime.StackTrace | undefined;
}

/** One thread of a tab. */
export interface Thread extends Target {
  readonly scripts: Map<string, Script>;
  paused: Paused | undefined;
  resumed: DebugResumed | undefined;
  /** What the agent asked for and waits to come about. */
  asked: 'pause' | 'step' | undefined;
  /** Why the next resume comes; undefined when it is another debugger's doing. */
  resuming: string | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** The browser's ids of breakpoints → ours. */
  readonly set: Map<string, string>;
  /** What was asked for → our id: the browser refuses two breakpoints at one place. */
  readonly asks: Map<string, string>;
  readonly locations: Map<string, DebugLocation[]>;
  instrumentation: string | undefined;
  /** Until when its document is about to be left, and is not held any more; 0 when it is not. */
  leaving: number;
}

/** A breakpoint whose condition threw. */
export interface Failed {
  error: string;
  count: number;
}

interface Breakpoint extends DebugBreakpoint {
  hits: number;
  failed: Failed | undefined;
}

/** A breakpoint at which the page does not stay: what is done there before it goes on. */
export interface Probe {
  locations: readonly Protocol.Debugger.Location[];
  hit(event: Protocol.Debugger.PausedEvent): Promise<void>;
}

/** What happens in a session. `changed` comes with every pause and resume. */
export type DebugEvent =
  | { type: 'paused' | 'resumed'; thread: Thread }
  | { type: 'thread' | 'gone'; thread: Thread }
  | { type: 'ended' };

/** What a session needs of its surroundings. */
export interface SessionOptions {
  readonly tab: number;
  /** Whether the attachment was made for this session, so that nobody else lets new targets run. */
  readonly own: boolean;
  /** When it began, if that was in an earlier life of the worker. */
  readonly began?: number | undefined;
  send: SendTo;
  /** Asks the host for the breakpoints that lie in a script that waits to run. */
  resolve(url: string, map: string): Promise<DebugBreakpoint[]>;
  now?(): number;
}

const ASYNC_DEPTH = 8;
/** How long the host may take to say which breakpoints lie in a script that waits, in ms. */
const RESOLVE_MS = 5000;
/** How long a paused document that is about to be left is not held again, in ms: it may stay after all. */
const LEAVING_MS = 10_000;

/** Which exceptions pause. */
export type Exceptions = 'none' | 'uncaught' | 'all';

/** The debug session of a tab. */
export class DebugSession {
  readonly tab: number;
  readonly own: boolean;
  /** When it began, in milliseconds since the epoch: what the host knows it by. */
  readonly began: number;
  readonly threads = new Map<number, Thread>();
  readonly breakpoints = new Map<string, Breakpoint>();
  exceptions: Exceptions = 'none';
  /** Who asked last, and for how long a pause may last. */
  caller: DebugCaller;
  ended = false;
  readonly #options: SessionOptions;
  readonly #listeners = new Set<(event: DebugEvent) => void>();
  /** By thread and the browser's id of the breakpoint. */
  readonly #probes = new Map<string, Probe>();
  readonly #bindings = new Map<string, (thread: Thread, payload: string) => void>();

  constructor(caller: DebugCaller, options: SessionOptions) {
    this.tab = options.tab;
    this.own = options.own;
    this.began = options.began ?? Date.now();
    this.caller = caller;
    this.#options = options;
  }

  /** Sends a command of the debugger protocol to a thread. */
  async send<C extends keyof Commands>(
    thread: Pick<Thread, 'session'>,
    method: C,
    params?: Commands[C]['paramsType'][0],
  ): Promise<Commands[C]['returnType']> {
    return (await this.#options.send(
      thread.session,
      method,
      params as object | undefined,
    )) as Commands[C]['returnType'];
  }

  /** Whether nothing is set, held or listened for: only its maker, if anybody, hears what happens. */
  get idle(): boolean {
    return (
      this.breakpoints.size === 0 &&
      this.exceptions === 'none' &&
      this.#listeners.size <= 1 &&
      [...this.threads.values()].every(({ paused, asked }) => paused === undefined && asked === undefined)
    );
  }

  /** Hears what happens; the function that comes back ends that. */
  on(listener: (event: DebugEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(event: DebugEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  /** The paused thread of an id; of 0, the one that is paused. */
  pausedThread(id: number): Thread {
    const thread = id === 0 ? this.#onlyPaused() : this.thread(id);
    if (thread.paused === undefined)
      throw new CodedError(
        CodeInvalid,
        `Thread ${thread.id} is running; set a breakpoint and have the page come to it, or call debugger_pause.`,
      );
    return thread;
  }

  #onlyPaused(): Thread {
    const paused = [...this.threads.values()].filter((thread) => thread.paused !== undefined);
    const [first] = paused;
    if (first === undefined)
      throw new CodedError(
        CodeInvalid,
        'Nothing is paused; set a breakpoint and have the page come to it, or call debugger_pause.',
      );
    if (paused.length > 1)
      throw new CodedError(
        CodeInvalid,
        `Several threads are paused: ${paused.map(({ id }) => id).join(', ')}. Name one.`,
      );
    return first;
  }

  /** The thread of an id. */
  thread(id: number): Thread {
    const thread = this.threads.get(id);
    if (thread === undefined)
      throw new CodedError(
        CodeInvalid,
        `There is no thread ${id}; there are ${[...this.threads.keys()].join(', ')}.`,
      );
    return thread;
  }

  /** A frame of a paused thread, 0 at the top. */
  frame(thread: Thread, index: number): Protocol.Debugger.CallFrame {
    const frames = thread.paused?.callFrames ?? [];
    const frame = frames[index];
    if (frame === undefined)
      throw new CodedError(
        CodeInvalid,
        `There is no frame ${index}; thread ${thread.id} has frames 0 to ${frames.length - 1}.`,
      );
    return frame;
  }

  /**
   * Begins with a target. Its commands are sent before this returns, so that they come before whatever lets a
   * target run that waits for the debugger. Resolves when the debugger is on.
   */
  begin(target: Target): Promise<void> {
    const thread: Thread = {
      ...target,
      scripts: new Map(),
      paused: undefined,
      resumed: undefined,
      asked: undefined,
      resuming: undefined,
      timer: undefined,
      set: new Map(),
      asks: new Map(),
      locations: new Map(),
      instrumentation: undefined,
      leaving: 0,
    };
    this.threads.set(thread.id, thread);
    const on = this.send(thread, 'Debugger.enable', { maxScriptsCacheSize: 16 << 20 });
    const rest = [
      this.send(thread, 'Debugger.setAsyncCallStackDepth', { maxDepth: ASYNC_DEPTH }),
      ...(this.exceptions === 'none'
        ? []
        : [this.send(thread, 'Debugger.setPauseOnExceptions', { state: this.exceptions })]),
      this.#instrument(thread),
      ...[...this.breakpoints.values()].map((breakpoint) => this.#place(thread, breakpoint)),
    ];
    for (const sent of rest) void sent.catch(ignore);
    this.#tell({ type: 'thread', thread });
    return on.then(() => undefined);
  }

  /** A target is gone. */
  gone(id: number): void {
    const thread = this.threads.get(id);
    if (thread === undefined) return;
    this.#resumed(thread, thread.resuming ?? ResumedDebugger);
    this.threads.delete(id);
    this.#tell({ type: 'gone', thread });
  }

  /** Takes an event of one of the tab's sessions. */
  event(session: string | undefined, method: string, params: unknown): void {
    const thread = [...this.threads.values()].find((thread) => thread.session === session);
    if (thread === undefined) return;
    switch (method) {
      case 'Debugger.scriptParsed': {
        const { scriptId, url, sourceMapURL, startLine, startColumn } =
          params as Protocol.Debugger.ScriptParsedEvent;
        thread.scripts.set(scriptId, { url, map: sourceMapURL ?? '', line: startLine, column: startColumn });
        break;
      }
      case 'Debugger.breakpointResolved': {
        const { breakpointId, location } = params as Protocol.Debugger.BreakpointResolvedEvent;
        const probe = this.#probes.get(`${thread.id} ${breakpointId}`);
        if (probe !== undefined) probe.locations = [...probe.locations, location];
        else this.#stands(thread, breakpointId, [location]);
        break;
      }
      case 'Debugger.paused':
        void this.#paused(thread, params as Protocol.Debugger.PausedEvent);
        break;
      case 'Debugger.resumed':
        this.#resumed(thread, thread.resuming ?? ResumedDebugger);
        break;
      case 'Runtime.bindingCalled': {
        const { name, payload } = params as Protocol.Runtime.BindingCalledEvent;
        this.#bindings.get(name)?.(thread, payload);
        break;
      }
      case 'Runtime.executionContextsCleared':
        // The scripts of a document that was left are gone with it.
        thread.scripts.clear();
        break;
    }
  }

  async #paused(thread: Thread, event: Protocol.Debugger.PausedEvent): Promise<void> {
    if (this.#now() < thread.leaving) {
      await this.send(thread, 'Debugger.resume').catch(ignore);
      return;
    }
    if (event.reason === 'instrumentation') return await this.#scriptWaits(thread, event);
    const ids = (event.hitBreakpoints ?? []).map((id) => thread.set.get(id)).filter((id) => id !== undefined);
    const hit: string[] = [];
    for (const id of ids) {
      const breakpoint = this.breakpoints.get(id);
      if (breakpoint !== undefined && (await this.#hits(thread, breakpoint, event))) hit.push(id);
    }
    const probes = (event.hitBreakpoints ?? []).flatMap((id) => this.#probes.get(`${thread.id} ${id}`) ?? []);
    for (const probe of probes) await probe.hit(event).catch(ignore);
    const { asked } = thread;
    // What only breakpoints stopped that do not want to goes on.
    if (ids.length + probes.length > 0 && hit.length === 0 && asked !== 'pause' && !otherReason(event)) {
      thread.resuming = ResumedAgent;
      if (asked === 'step') await this.send(thread, 'Debugger.stepOver').catch(ignore);
      else await this.send(thread, 'Debugger.resume').catch(ignore);
      return;
    }
    thread.asked = undefined;
    thread.resuming = undefined;
    const reason = reasonOf(event, hit, asked);
    const ours =
      hit.length > 0 ||
      asked !== undefined ||
      ((reason === PauseException || reason === PauseRejection) && this.exceptions !== 'none');
    thread.paused = {
      at: this.#now(),
      reason,
      by: ours ? this.caller.by : '',
      hit,
      data: event.data,
      // The browser leaves the addresses to be looked up.
      callFrames: event.callFrames.map((frame) => ({
        ...frame,
        url: frame.url || (thread.scripts.get(frame.location.scriptId)?.url ?? ''),
      })),
      asyncStackTrace: event.asyncStackTrace,
    };
    clearTimeout(thread.timer);
    thread.timer = setTimeout(
      () => void this.resume(thread, ResumedTime).catch(ignore),
      this.caller.release_ms,
    );
    this.#tell({ type: 'paused', thread });
  }

  /** Counts a hit, and says whether the page is to stand still for it. */
  async #hits(
    thread: Thread,
    breakpoint: Breakpoint,
    event: Protocol.Debugger.PausedEvent,
  ): Promise<boolean> {
    const frame = event.callFrames[0];
    if (breakpoint.condition && frame !== undefined) {
      try {
        const { result, exceptionDetails } = await this.send(thread, 'Debugger.evaluateOnCallFrame', {
          callFrameId: frame.callFrameId,
          expression: `!!(${breakpoint.condition}\n)`,
          silent: true,
          returnByValue: true,
          throwOnSideEffect: this.caller.evaluate !== true,
        });
        if (exceptionDetails !== undefined) {
          const { exception, text } = exceptionDetails;
          const error = (exception?.description ?? text).split('\n', 1)[0] ?? '';
          breakpoint.failed = { error, count: (breakpoint.failed?.count ?? 0) + 1 };
          return false;
        }
        if (result.value !== true) return false;
      } catch {
        return false; // the thread is gone
      }
    }
    breakpoint.hits++;
    return breakpoint.hits >= (breakpoint.hit_count ?? 1);
  }

  /** A script with a source map waits for its breakpoints. */
  async #scriptWaits(thread: Thread, event: Protocol.Debugger.PausedEvent): Promise<void> {
    const { url, sourceMapURL } = (event.data ?? {}) as { url?: string; sourceMapURL?: string };
    try {
      if (url && sourceMapURL) {
        const found = await within(this.#options.resolve(url, sourceMapURL), RESOLVE_MS);
        for (const breakpoint of found ?? []) await this.setBreakpoint(breakpoint);
      }
    } catch {
      // The host says what is missing when it is asked.
    }
    await this.send(thread, 'Debugger.resume').catch(ignore);
  }

  #resumed(thread: Thread, how: string): void {
    clearTimeout(thread.timer);
    thread.resuming = undefined;
    if (thread.paused === undefined) return;
    thread.paused = undefined;
    thread.resumed = { at: this.#now(), how };
    this.#tell({ type: 'resumed', thread });
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Has a thread pause at the next statement that it runs. */
  async pause(thread: Thread): Promise<void> {
    if (thread.paused !== undefined) return;
    thread.asked = 'pause';
    await this.send(thread, 'Debugger.pause');
  }

  /** Lets a paused thread go on; `how` is one of the protocol's Resumed constants. */
  async resume(thread: Thread, how: string): Promise<void> {
    if (thread.paused === undefined) return;
    thread.resuming = how;
    await this.send(thread, 'Debugger.resume');
    this.#resumed(thread, how);
  }

  /** A document that is paused is about to be left: it goes on until it is gone. */
  async leave(thread: Thread): Promise<void> {
    if (thread.paused === undefined) return;
    thread.leaving = this.#now() + LEAVING_MS;
    await this.resume(thread, ResumedGone);
  }

  /** Another document is there, since a time: what was paused before is gone. */
  left(thread: Thread, at: number): void {
    thread.leaving = 0;
    if (thread.paused !== undefined && thread.paused.at < at) this.#resumed(thread, ResumedGone);
  }

  async step(thread: Thread, kind: 'over' | 'into' | 'out'): Promise<void> {
    thread.asked = 'step';
    thread.resuming = ResumedAgent;
    const commands = {
      over: 'Debugger.stepOver',
      into: 'Debugger.stepInto',
      out: 'Debugger.stepOut',
    } as const;
    await this.send(thread, commands[kind]);
    this.#resumed(thread, ResumedAgent);
  }

  /** Resolves when a thread (0: any) is paused, or the time is over. */
  waitForPause(id: number, ms: number): Promise<void> {
    const paused = (): boolean =>
      [...this.threads.values()].some(
        (thread) => (id === 0 || thread.id === id) && thread.paused !== undefined,
      );
    if (ms <= 0 || paused()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        off();
        resolve();
      };
      const timer = setTimeout(done, ms);
      const off = this.on((event) => {
        if (event.type === 'ended' || paused()) done();
      });
    });
  }

  /** Makes sure that a condition is one expression. It is not run. */
  async checkCondition(condition: string): Promise<void> {
    const page = this.threads.get(1) ?? [...this.threads.values()][0];
    if (page === undefined) return;
    const { exceptionDetails } = await this.send(page, 'Runtime.evaluate', {
      expression: `(() => { return (${condition}\n) })`,
      silent: true,
      throwOnSideEffect: true,
    });
    if (exceptionDetails === undefined) return;
    const { exception, text } = exceptionDetails;
    const why = (exception?.description ?? text).split('\n', 1)[0] ?? '';
    throw new CodedError(CodeInvalid, `The condition cannot be read: ${redactText(why).text}.`);
  }

  /** Finds out where threads are that had no address yet when they were attached. */
  async nameThreads(): Promise<void> {
    await Promise.all(
      [...this.threads.values()].map(async (thread) => {
        if (thread.url !== '' || thread.id === 1) return;
        await this.send(thread, 'Target.getTargetInfo').then(({ targetInfo }) => {
          thread.url = targetInfo.url;
        }, ignore);
      }),
    );
  }

  /** Pauses at exceptions from now on. */
  async pauseOnExceptions(state: Exceptions): Promise<void> {
    this.exceptions = state;
    await Promise.all(
      [...this.threads.values()].map((thread) =>
        this.send(thread, 'Debugger.setPauseOnExceptions', { state }).catch(ignore),
      ),
    );
  }

  /** Sets a breakpoint in every thread, or moves the one of the same id. */
  async setBreakpoint(wanted: DebugBreakpoint): Promise<void> {
    const before = this.breakpoints.get(wanted.id);
    const breakpoint: Breakpoint = { ...wanted, hits: before?.hits ?? 0, failed: before?.failed };
    const threads = [...this.threads.values()];
    if (before !== undefined) {
      if (JSON.stringify(before.places) === JSON.stringify(wanted.places)) {
        this.breakpoints.set(wanted.id, breakpoint);
        return;
      }
      await Promise.all(threads.map((thread) => this.#unset(thread, wanted.id)));
    }
    this.breakpoints.set(wanted.id, breakpoint);
    await Promise.all(threads.map((thread) => this.#instrument(thread).catch(ignore)));
    try {
      await Promise.all(threads.map((thread) => this.#place(thread, breakpoint)));
    } catch (error) {
      if (before === undefined) await this.removeBreakpoint(wanted.id);
      throw error;
    }
  }

  /** Removes a breakpoint. */
  async removeBreakpoint(id: string): Promise<void> {
    this.breakpoints.delete(id);
    const threads = [...this.threads.values()];
    await Promise.all(
      threads.map(async (thread) => {
        await this.#unset(thread, id);
        await this.#instrument(thread).catch(ignore);
      }),
    );
  }

  async #unset(thread: Thread, id: string): Promise<void> {
    for (const [key, ours] of [...thread.asks]) if (ours === id) thread.asks.delete(key);
    for (const [theirs, ours] of [...thread.set]) {
      if (ours !== id) continue;
      thread.set.delete(theirs);
      thread.locations.delete(theirs);
      await this.send(thread, 'Debugger.removeBreakpoint', { breakpointId: theirs }).catch(ignore);
    }
  }

  /** Where a breakpoint stands in all threads. */
  locations(id: string): DebugLocation[] {
    return [...this.threads.values()].flatMap((thread) =>
      [...thread.set].flatMap(([theirs, ours]) => (ours === id ? (thread.locations.get(theirs) ?? []) : [])),
    );
  }

  /** Has scripts with source maps wait as long as a breakpoint needs it. */
  async #instrument(thread: Thread): Promise<void> {
    const wanted = [...this.breakpoints.values()].some(({ original }) => original === true);
    if (wanted === (thread.instrumentation !== undefined)) return;
    if (wanted) {
      thread.instrumentation = '';
      const { breakpointId } = await this.send(thread, 'Debugger.setInstrumentationBreakpoint', {
        instrumentation: 'beforeScriptWithSourceMapExecution',
      });
      thread.instrumentation = breakpointId;
      return;
    }
    const id = thread.instrumentation;
    thread.instrumentation = undefined;
    if (id) await this.send(thread, 'Debugger.removeBreakpoint', { breakpointId: id });
  }

  async #place(thread: Thread, breakpoint: Breakpoint): Promise<void> {
    await Promise.all(
      breakpoint.places.map((place) =>
        this.#placeOne(thread, breakpoint.id, place).catch((error: unknown) => {
          if (error instanceof CodedError) throw error; // else the thread is gone
        }),
      ),
    );
  }

  async #placeOne(thread: Thread, id: string, place: DebugPlace): Promise<void> {
    const spot = await this.#spot(thread, place);
    const key = `${place.url || place.pattern}:${spot.lineNumber}:${spot.columnNumber}`;
    const there = thread.asks.get(key);
    if (there === id) return; // two pieces of code begin at one place
    if (there !== undefined) throw new CodedError(CodeInvalid, `The breakpoint ${there} is at that place.`);
    thread.asks.set(key, id);
    const where = place.pattern ? { urlRegex: place.pattern } : { url: place.url ?? '' };
    const { breakpointId, locations } = await this.send(thread, 'Debugger.setBreakpointByUrl', {
      ...where,
      ...spot,
    });
    thread.set.set(breakpointId, id);
    this.#stands(thread, breakpointId, locations);
  }

  /** Where in a script the first place of a range is where the browser can pause. */
  async #spot(thread: Thread, place: DebugPlace): Promise<{ lineNumber: number; columnNumber?: number }> {
    const pattern = place.pattern ? new RegExp(place.pattern) : undefined;
    const script = [...thread.scripts]
      .reverse()
      .find(([, { url }]) => (pattern === undefined ? url === place.url : pattern.test(url)))?.[0];
    const exact = script === undefined ? undefined : await this.#firstBreak(thread, script, place);
    const { lineNumber, columnNumber } = exact ?? {
      lineNumber: place.line - 1,
      columnNumber: place.column ? place.column - 1 : undefined,
    };
    return { lineNumber, ...(columnNumber !== undefined && { columnNumber }) };
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
    const spot = await this.#spot(thread, place);
    return await this.send(thread, 'Debugger.setBreakpointByUrl', {
      urlRegex: `(?:${any})(?=|${name})`,
      ...spot,
      ...(condition !== '' && { condition }),
    });
  }

  /** Has something be done at a breakpoint of the browser's. */
  probe(thread: Thread, breakpointId: string, probe: Probe): void {
    this.#probes.set(`${thread.id} ${breakpointId}`, probe);
  }

  unprobe(thread: Thread, breakpointId: string): void {
    this.#probes.delete(`${thread.id} ${breakpointId}`);
  }

  /** Where such a breakpoint stands. */
  probeLocations(thread: Thread, breakpointId: string): DebugLocation[] {
    return (this.#probes.get(`${thread.id} ${breakpointId}`)?.locations ?? []).map((at) =>
      locationOf(thread, at),
    );
  }

  /** Hears what the page says by a function of that name. */
  bind(name: string, told: (thread: Thread, payload: string) => void): void {
    this.#bindings.set(name, told);
  }

  unbind(name: string): void {
    this.#bindings.delete(name);
  }

  /** The first place of a range where the browser can pause. */
  async #firstBreak(
    thread: Thread,
    scriptId: string,
    { line, column = 1, end_line, end_column = 1 }: DebugPlace,
  ): Promise<{ lineNumber: number; columnNumber: number | undefined } | undefined> {
    const start = { scriptId, lineNumber: line - 1, columnNumber: column - 1 };
    const end = end_line
      ? { scriptId, lineNumber: end_line - 1, columnNumber: end_column - 1 }
      : { scriptId, lineNumber: line, columnNumber: 0 };
    try {
      const { locations } = await this.send(thread, 'Debugger.getPossibleBreakpoints', { start, end });
      const first = locations[0];
      return first && { lineNumber: first.lineNumber, columnNumber: first.columnNumber };
    } catch {
      return undefined; // the script is gone
    }
  }

  #stands(thread: Thread, breakpointId: string, found: readonly Protocol.Debugger.Location[]): void {
    const list = thread.locations.get(breakpointId) ?? [];
    for (const place of found) {
      const at = locationOf(thread, place);
      if (!list.some((other) => JSON.stringify(other) === JSON.stringify(at))) list.push(at);
    }
    thread.locations.set(breakpointId, list);
  }

  /** Lets everything run on and gives up the threads. */
  async end(how: string): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await Promise.all(
      [...this.threads.values()].map(async (thread) => {
        clearTimeout(thread.timer);
        thread.resuming = how;
        // Who else holds the attachment would get what is still set back with the next document.
        const probes = [...this.#probes.keys()].flatMap((key) => {
          const [id, ...theirs] = key.split(' ');
          return id === String(thread.id) ? [theirs.join(' ')] : [];
        });
        const set = [
          ...thread.set.keys(),
          ...probes,
          ...(thread.instrumentation ? [thread.instrumentation] : []),
        ];
        for (const breakpointId of set)
          void this.send(thread, 'Debugger.removeBreakpoint', { breakpointId }).catch(ignore);
        if (this.exceptions !== 'none')
          void this.send(thread, 'Debugger.setPauseOnExceptions', { state: 'none' }).catch(ignore);
        await this.send(thread, 'Debugger.disable').catch(ignore);
        this.#resumed(thread, how);
      }),
    );
    this.#tell({ type: 'ended' });
    this.#listeners.clear();
  }
}

function locationOf(
  thread: Thread,
  { scriptId, lineNumber, columnNumber = 0 }: Protocol.Debugger.Location,
): DebugLocation {
  const url = thread.scripts.get(scriptId)?.url ?? '';
  return { thread: thread.id, url, line: lineNumber + 1, column: columnNumber + 1 };
}

function otherReason({ reason }: Protocol.Debugger.PausedEvent): boolean {
  return reason !== 'other' && reason !== 'step' && reason !== 'ambiguous';
}

function reasonOf(
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

/** What a promise resolves to, or undefined when it takes longer. */
function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(resolve, ms, undefined))]);
}

function ignore(): void {
  // The thread went away in between: there is nothing left to do for it.
}
