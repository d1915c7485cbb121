/**
 * One tab under the debugger: its threads, and what holds them. The page, frames of other processes and workers are
 * threads; each has a session of the browser's debugger protocol.
 */
import type { Protocol } from 'devtools-protocol';
import { ASYNC_DEPTH } from '../capture/stack';
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  CodeRunning,
  type DebugBreakpoint,
  type DebugCaller,
  type DebugFrame,
  type DebugNames,
  PauseException,
  PauseRejection,
  ResumedAgent,
  ResumedDebugger,
  ResumedGone,
  ResumedLeft,
  ResumedTime,
} from '../protocol';
import { Breakpoints } from './breakpoints';
import { isOthers, PASSED_OVER } from './own-code';
import { frameState } from './state';
import {
  type Commands,
  type DebugEvent,
  type Exceptions,
  giveUp,
  otherReason,
  type Paused,
  reasonOf,
  type Script,
  type Target,
  type Thread,
  type Threads,
} from './thread';

/** Sends a command to one session of the tab; undefined is the page's own. */
export type SendTo = (session: string | undefined, method: string, params?: object) => Promise<unknown>;

/** What a session needs of its surroundings. */
export interface SessionOptions {
  readonly tab: number;
  /** Whether this session made the attachment, and so must let new targets run. */
  readonly own: boolean;
  /** When it began, if that was in an earlier life of the worker. */
  readonly began?: number | undefined;
  /** Which exceptions were to pause in that life. */
  readonly exceptions?: readonly (readonly [number, Exceptions])[] | undefined;
  send: SendTo;
  /** Asks the host for the breakpoints that lie in a script that waits to run. */
  resolve(url: string, map: string): Promise<DebugBreakpoint[]>;
  /** Asks the host what identifiers were called; places are lines and columns in turn, from 1. */
  names(url: string, map: string, places: readonly number[]): Promise<DebugNames>;
  /** Asks the host what function and line a frame of code with a source map is; empty if it cannot say. */
  place(frame: DebugFrame): Promise<string>;
  now?(): number;
}

/** How long an ended thread may take to disappear after its pause ends, in ms. */
const ENDING_MS = 500;
/** How many threads are remembered that were paused when they ended. */
const MAX_GONE = 10;
/** How long the host may take to name the line of a pause, in ms. */
const PLACE_MS = 500;
/** How long the host may take to say which breakpoints lie in a script that waits, in ms. */
const RESOLVE_MS = 5000;
/** How long a paused document that is about to be left is not paused again, in ms: it may stay after all. */
const LEAVING_MS = 10_000;

/** The debug session of a tab. */
export class DebugSession implements Threads {
  readonly tab: number;
  readonly own: boolean;
  /** When it began, in milliseconds since the epoch: what the host knows it by. */
  readonly began: number;
  readonly threads = new Map<number, Thread>();
  readonly breakpoints: Breakpoints;
  /** Threads that were paused when they ended, the newest at the end. */
  gone: readonly Thread[] = [];
  /** Which exceptions each client wants to pause. */
  readonly exceptions: Map<number, Exceptions>;
  ended = false;
  readonly #names = new Map<number, string>();
  readonly #left = new Set<number>();
  #caller: DebugCaller;
  readonly #options: SessionOptions;
  readonly #listeners = new Set<(event: DebugEvent) => void>();
  readonly #bindings = new Map<string, (thread: Thread, payload: string) => void>();

  constructor(caller: DebugCaller, options: SessionOptions) {
    this.tab = options.tab;
    this.own = options.own;
    this.began = options.began ?? Date.now();
    this.#caller = caller;
    this.caller = caller;
    this.exceptions = new Map(options.exceptions);
    this.#options = options;
    this.breakpoints = new Breakpoints(this);
  }

  /** Who asked last, and for how long a pause may last. */
  get caller(): DebugCaller {
    return this.#caller;
  }

  set caller(caller: DebugCaller) {
    this.#caller = caller;
    const { client = 0, by } = caller;
    this.#names.set(client, by);
    this.#left.delete(client);
  }

  /** Whether a client has left since it asked. */
  hasLeft({ client = 0 }: DebugCaller): boolean {
    return this.#left.has(client);
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

  /** Whether the session is unused: no breakpoint, exception setting, pause or further listener. */
  get idle(): boolean {
    return (
      this.breakpoints.all.size === 0 &&
      this.exceptions.size === 0 &&
      this.#listeners.size <= 1 &&
      [...this.threads.values()].every(({ paused, asked }) => paused === undefined && asked === undefined)
    );
  }

  /** What identifiers of a script were called; nothing is known where the host cannot say. */
  async names(script: Script, places: readonly number[]): Promise<DebugNames> {
    const none: DebugNames = { names: [] };
    return await within(this.#options.names(script.url, script.map, places), RESOLVE_MS).then(
      (names) => names ?? none,
      () => none,
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

  /** The paused thread with an id; for 0, the only paused thread. */
  pausedThread(id: number): Thread {
    const thread = id === 0 ? this.#onlyPaused() : this.thread(id);
    if (thread.paused === undefined)
      throw new CodedError(
        CodeRunning,
        `Thread ${thread.id} is running. Set a breakpoint that the page reaches, or call debugger_pause.`,
      );
    return thread;
  }

  #onlyPaused(): Thread {
    const paused = [...this.threads.values()].filter((thread) => thread.paused !== undefined);
    const [first] = paused;
    if (first === undefined)
      throw new CodedError(
        CodeRunning,
        'Nothing is paused. Set a breakpoint that the page reaches, or call debugger_pause.',
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
        `There is no thread ${id}. Threads: ${[...this.threads.keys()].join(', ')}.`,
      );
    return thread;
  }

  /** A frame of a paused thread; 0 is the top. */
  frame(thread: Thread, index: number): Protocol.Debugger.CallFrame {
    const frames = thread.paused?.callFrames ?? [];
    const frame = frames[index];
    if (frame === undefined)
      throw new CodedError(
        CodeInvalid,
        `There is no frame ${index}. Thread ${thread.id} has frames 0 to ${frames.length - 1}.`,
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
      asker: 0,
      unwanted: false,
      resuming: undefined,
      timer: undefined,
      leaving: 0,
      exceptions: false,
    };
    this.threads.set(thread.id, thread);
    const on = this.send(thread, 'Debugger.enable', { maxScriptsCacheSize: 16 << 20 });
    const rest = [
      this.send(thread, 'Debugger.setAsyncCallStackDepth', { maxDepth: ASYNC_DEPTH }),
      this.send(thread, 'Debugger.setBlackboxPatterns', PASSED_OVER),
      ...(this.#pausing === 'none' ? [] : [this.#setExceptions(thread)]),
      ...this.breakpoints.begin(thread),
    ];
    for (const sent of rest) void sent.catch(ignore);
    this.#tell({ type: 'thread', thread });
    return on.then(() => undefined);
  }

  /** A target has ended. */
  lost(id: number): void {
    const thread = this.threads.get(id);
    if (thread === undefined) return;
    const { resumed } = thread;
    if (thread.paused !== undefined) this.#resumed(thread, ResumedGone);
    else if (resumed !== undefined && this.#mayEnd(thread)) thread.resumed = { ...resumed, how: ResumedGone };
    if (thread.resumed?.how === ResumedGone) this.gone = [...this.gone, thread].slice(-MAX_GONE);
    this.threads.delete(id);
    this.#tell({ type: 'gone', thread });
  }

  /** Whether a thread may be ending: the browser resumes it for that, as another debugger would. */
  #mayEnd({ id, resumed }: Thread): boolean {
    return id !== 1 && resumed?.how === ResumedDebugger && this.#now() - resumed.at < ENDING_MS;
  }

  /** Waits until it is known of every thread whether it ends. */
  async whetherEnding(): Promise<void> {
    if (![...this.threads.values()].some((thread) => this.#mayEnd(thread))) return;
    await new Promise<void>((resolve) => {
      const off = this.on(({ type }) => {
        if (type === 'gone' || type === 'ended') done();
      });
      const done = (): void => {
        clearTimeout(timer);
        off();
        resolve();
      };
      const timer = setTimeout(done, ENDING_MS);
    });
  }

  /** Takes an event of one of the tab's sessions. */
  event(session: string | undefined, method: string, params: unknown): void {
    const thread = [...this.threads.values()].find((thread) => thread.session === session);
    if (thread === undefined) return;
    switch (method) {
      case 'Debugger.scriptParsed': {
        const parsed = params as Protocol.Debugger.ScriptParsedEvent;
        const { scriptId, url, sourceMapURL, startLine, startColumn, executionContextAuxData } = parsed;
        const { isDefault } = (executionContextAuxData ?? {}) as { isDefault?: boolean };
        thread.scripts.set(scriptId, {
          url,
          map: sourceMapURL ?? '',
          line: startLine,
          column: startColumn,
          isolated: isDefault === false,
          length: parsed.hasSourceURL ? 0 : (parsed.length ?? 0),
        });
        break;
      }
      case 'Debugger.breakpointResolved':
        this.breakpoints.resolved(thread, params as Protocol.Debugger.BreakpointResolvedEvent);
        break;
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
        // A document's scripts end with it.
        thread.scripts.clear();
        break;
    }
  }

  async #paused(thread: Thread, all: Protocol.Debugger.PausedEvent): Promise<void> {
    if (this.#now() < thread.leaving) {
      await this.send(thread, 'Debugger.resume').catch(ignore);
      return;
    }
    if (all.reason === 'instrumentation') return await this.#scriptWaits(thread, all);
    const event = { ...all, callFrames: all.callFrames.filter((frame) => !isOthers(thread, frame)) };
    if (event.callFrames.length === 0 && all.callFrames.length > 0) return await this.#passOver(thread, all);
    const { hit: wanted, own } = await this.breakpoints.hit(thread, event);
    // The client that set one may have disconnected while its condition was evaluated.
    const hit = wanted.filter((id) => this.breakpoints.all.has(id));
    const { asked } = thread;
    const reason = reasonOf(event, hit, asked);
    const atException = reason === PauseException || reason === PauseRejection;
    const unwanted = atException
      ? thread.exceptions && this.exceptions.size === 0
      : thread.unwanted && hit.length === 0 && !otherReason(event);
    thread.unwanted = false;
    if (unwanted) {
      await this.send(thread, 'Debugger.resume').catch(ignore);
      return;
    }
    // Resumes a thread that stopped only at breakpoints whose hit does not count.
    if (own && hit.length === 0 && asked !== 'pause' && !otherReason(event)) {
      thread.resuming = ResumedAgent;
      if (asked === 'step') await this.send(thread, 'Debugger.stepOver').catch(ignore);
      else await this.send(thread, 'Debugger.resume').catch(ignore);
      return;
    }
    thread.asked = undefined;
    thread.resuming = undefined;
    const owners = new Set<number>(hit.map((id) => this.breakpoints.all.get(id)?.client ?? 0));
    if (asked !== undefined) owners.add(thread.asker);
    if (atException) for (const client of this.exceptions.keys()) owners.add(client);
    const callFrames = event.callFrames.map((frame) => ({
      ...frame,
      // The browser leaves the addresses to be looked up.
      url: frame.url || (thread.scripts.get(frame.location.scriptId)?.url ?? ''),
    }));
    const [top] = callFrames;
    const named = top === undefined ? '' : this.#placeOf(thread, top);
    const paused: Paused = {
      at: this.#now(),
      reason,
      by: this.#namesOf(owners),
      owners,
      hit,
      data: event.data,
      callFrames,
      asyncStackTrace: event.asyncStackTrace,
      place: typeof named === 'string' ? named : undefined,
    };
    thread.paused = paused;
    clearTimeout(thread.timer);
    thread.timer = setTimeout(
      () => void this.resume(thread, ResumedTime).catch(ignore),
      this.caller.release_ms,
    );
    if (typeof named !== 'string') {
      // A pause is known outside with its line, which all that report it then have from here.
      paused.place = await named;
      if (thread.paused !== paused) return;
    }
    this.#tell({ type: 'paused', thread });
  }

  /** Leaves code that is not the page's. A pause that was asked for is still to come. */
  async #passOver(thread: Thread, { callFrames }: Protocol.Debugger.PausedEvent): Promise<void> {
    const { asked } = thread;
    thread.unwanted = false;
    if (asked === 'step') thread.asked = undefined;
    const positions = [{ lineNumber: 0, columnNumber: 0 }];
    const sent = [...new Set(callFrames.map(({ location }) => location.scriptId))].map((scriptId) =>
      this.send(thread, 'Debugger.setBlackboxedRanges', { scriptId, positions }),
    );
    // Into whatever is called next: while such code runs, the browser would lose a new request for a pause.
    sent.push(this.send(thread, asked === 'pause' ? 'Debugger.stepInto' : 'Debugger.resume'));
    await Promise.allSettled(sent);
  }

  /** Function and line of a frame; those of the source file, if the host knows it in time. */
  #placeOf(thread: Thread, frame: Protocol.Debugger.CallFrame): string | Promise<string> {
    const file = frame.url.replace(/[?#].*$/s, '').replace(/^.*\//s, '');
    const place = `${frame.functionName || '(anonymous)'} (${file}:${frame.location.lineNumber + 1})`;
    if (!thread.scripts.get(frame.location.scriptId)?.map) return place;
    const generated = `${place} (generated)`;
    return within(this.#options.place(frameState(frame)), PLACE_MS).then(
      (named) => named || generated,
      () => generated,
    );
  }

  /** A script with a source map waits for its breakpoints. */
  async #scriptWaits(thread: Thread, event: Protocol.Debugger.PausedEvent): Promise<void> {
    const { url, sourceMapURL } = (event.data ?? {}) as { url?: string; sourceMapURL?: string };
    try {
      if (url && sourceMapURL) {
        const found = await within(this.#options.resolve(url, sourceMapURL), RESOLVE_MS);
        for (const breakpoint of found ?? []) await this.breakpoints.move(breakpoint);
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
    thread.asker = this.caller.client ?? 0;
    thread.unwanted = false;
    await this.send(thread, 'Debugger.pause');
  }

  /** Resumes a paused thread; `how` is one of the protocol's Resumed constants. */
  async resume(thread: Thread, how: string): Promise<void> {
    if (thread.paused === undefined) return;
    thread.resuming = how;
    await this.send(thread, 'Debugger.resume');
    this.#resumed(thread, how);
  }

  /** A paused document is about to be left: resumes it until then. */
  async leaveDocument(thread: Thread): Promise<void> {
    if (thread.paused === undefined) return;
    thread.leaving = this.#now() + LEAVING_MS;
    await this.resume(thread, ResumedGone);
  }

  /** A new document has loaded at a given time: earlier pauses have ended. */
  left(thread: Thread, at: number): void {
    thread.leaving = 0;
    if (thread.paused !== undefined && thread.paused.at < at) this.#resumed(thread, ResumedGone);
  }

  async step(thread: Thread, kind: 'over' | 'into' | 'out'): Promise<void> {
    thread.asked = 'step';
    thread.asker = this.caller.client ?? 0;
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

  /** Pauses at the exceptions that a client wants, from now on, beside those that others want. */
  async pauseOnExceptions(client: number, wanted: Exceptions): Promise<void> {
    if (wanted === 'none') this.exceptions.delete(client);
    else this.exceptions.set(client, wanted);
    await Promise.all([...this.threads.values()].map((thread) => this.#setExceptions(thread)));
  }

  /** Has a thread pause at the exceptions that clients want. */
  async #setExceptions(thread: Thread): Promise<void> {
    const state = this.#pausing;
    if (state !== 'none') thread.exceptions = true;
    await this.send(thread, 'Debugger.setPauseOnExceptions', { state }).catch(ignore);
    if (state === 'none') thread.exceptions = false;
  }

  /** Which exceptions pause: all that any client wants. */
  get #pausing(): Exceptions {
    const wanted = [...this.exceptions.values()];
    return wanted.find((state) => state === 'all') ?? wanted[0] ?? 'none';
  }

  #namesOf(clients: ReadonlySet<number>): string {
    return [...clients].map((client) => this.#names.get(client) ?? this.caller.by).join(', ');
  }

  /** A client has disconnected while another debugs the tab. Removes its breakpoints and resumes what it alone paused. */
  async leave(client: number): Promise<void> {
    this.#left.add(client);
    const set = [...this.breakpoints.all.values()].filter((breakpoint) => breakpoint.client === client);
    const ids = set.map(({ id }) => id);
    const takeOut = this.breakpoints.forget(ids);
    const wished = this.exceptions.delete(client);
    await Promise.all(
      [...this.threads.values()].map(async (thread) => {
        if (thread.asked !== undefined && thread.asker === client) giveUp(thread);
        // What still pauses the thread would do so again as soon as it runs.
        await Promise.all([takeOut(thread), wished && this.#setExceptions(thread)]);
        const { paused } = thread;
        if (!paused?.owners.delete(client)) return;
        paused.by = this.#namesOf(paused.owners);
        paused.hit = paused.hit.filter((id) => !ids.includes(id));
        if (paused.owners.size === 0) await this.resume(thread, ResumedLeft).catch(ignore);
      }),
    );
  }

  /** Hears what the page says by a function of that name. */
  bind(name: string, told: (thread: Thread, payload: string) => void): void {
    this.#bindings.set(name, told);
  }

  unbind(name: string): void {
    this.#bindings.delete(name);
  }

  /** Lets everything run on and gives up the threads. */
  async end(how: string): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await Promise.all(
      [...this.threads.values()].map(async (thread) => {
        clearTimeout(thread.timer);
        thread.resuming = how;
        this.breakpoints.clear(thread);
        if (this.exceptions.size > 0)
          void this.send(thread, 'Debugger.setPauseOnExceptions', { state: 'none' }).catch(ignore);
        await this.send(thread, 'Debugger.disable').catch(ignore);
        // Disabling ended that for capture too.
        if (!this.own)
          void this.send(thread, 'Debugger.setAsyncCallStackDepth', { maxDepth: ASYNC_DEPTH }).catch(ignore);
        this.#resumed(thread, how);
      }),
    );
    this.#tell({ type: 'ended' });
    this.#listeners.clear();
  }
}

/** What a promise resolves to, or undefined when it takes longer. */
function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(resolve, ms, undefined))]);
}

function ignore(): void {
  // The thread went away in between: there is nothing left to do for it.
}
