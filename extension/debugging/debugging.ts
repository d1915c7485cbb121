/**
 * Answers the host's debugging requests. The browser's debugger is attached to a tab only while an agent uses it there.
 * A pause always ends: by the agent, by the user, or by a timeout.
 */
import type { Protocol } from 'devtools-protocol';
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  CodeUnavailable,
  CodeUnknown,
  type DebugBreakpoint,
  type DebugBreakpointParams,
  type DebugCaller,
  type DebugEvaluateParams,
  type DebugMap,
  type DebugNames,
  type DebugPlaced,
  type DebugPlaceText,
  type DebugRunParams,
  type DebugScriptLine,
  type DebugScriptResult,
  type DebugScripts,
  type DebugState,
  type DebugStateParams,
  type DebugValue,
  MethodDebugBreakpoint,
  MethodDebugEnd,
  MethodDebugEvaluate,
  MethodDebugLeave,
  MethodDebugMap,
  MethodDebugNames,
  MethodDebugPlace,
  MethodDebugRemove,
  MethodDebugRun,
  MethodDebugScript,
  MethodDebugScripts,
  MethodDebugState,
  ResumedAgent,
  ResumedGone,
  ResumedHost,
  ResumedPerson,
  ResumedWorker,
  type TabPaused,
} from '../protocol';
import type { SharedDebugger } from './attachment';
import { evaluate } from './evaluate';
import {
  readBreakpointParams,
  readCaller,
  readEvaluateParams,
  readExceptions,
  readMapParams,
  readRemoveParams,
  readRunParams,
  readStateParams,
  readStep,
} from './requests';
import { DebugSession } from './session';
import { idleState, sessionState, shorten } from './state';
import { type Exceptions, giveUp, type Script, type Target } from './thread';

/** What debugging needs of the worker. */
export interface DebuggingOptions {
  readonly api: SharedDebugger;
  /** The address of a watched tab's page; undefined for any other tab. */
  page(tab: number): Promise<string | undefined>;
  /** Asks the host. */
  request(method: string, params: unknown): Promise<unknown>;
  /** What is paused has changed. */
  changed(tab: number): void;
  /** Where what a new life of the worker must know is written down. */
  remember(memory: DebugMemory): void;
}

/** What a new life of the worker must know of debugged tabs. */
export type DebugMemory = Record<
  string,
  {
    caller: DebugCaller;
    began: number;
    breakpoints: DebugBreakpoint[];
    exceptions: [client: number, state: Exceptions][];
    paused: boolean;
  }
>;

/** One more thing that the debugger can do, for the table of methods. */
export type DebugMethod = (session: DebugSession, params: unknown) => Promise<unknown>;

/** What is taken over from a session in an earlier life of the worker. */
type Earlier = Pick<DebugMemory[string], 'began' | 'exceptions'>;

interface Targets {
  /** Known targets by their session; the page's is ''. */
  readonly list: Map<string, Target>;
  last: number;
}

/** How long the host may be unreachable before its debug sessions end, in ms. */
const HOST_GONE_MS = 5000;
/** How long the host waits for what an earlier life debugged to be taken over, in ms. */
const RESTORE_MS = 8000;
/** How long an unused session lasts, in ms. */
const IDLE_MS = 60_000;

const kinds: Readonly<Record<string, string>> = {
  iframe: 'iframe',
  worker: 'worker',
  shared_worker: 'shared_worker',
  service_worker: 'service_worker',
};

/** Debugs tabs. */
export class Debugging {
  readonly #options: DebuggingOptions;
  readonly #targets = new Map<number, Targets>();
  readonly #sessions = new Map<number, DebugSession>();
  readonly #starting = new Map<number, Promise<DebugSession>>();
  readonly #ended = new Map<number, { why: string; at: number }>();
  readonly #methods: Readonly<Record<string, DebugMethod>>;
  #gone: ReturnType<typeof setTimeout> | undefined;
  readonly #waiters = new Set<() => void>();
  readonly #resting = new Map<number, ReturnType<typeof setTimeout>>();
  #nowRestored: () => void = () => undefined;
  readonly #restored = new Promise<void>((resolve) => {
    this.#nowRestored = resolve;
    setTimeout(resolve, RESTORE_MS); // however that goes
  });
  #hostRun: string | undefined;

  /** `methods` answer more of the host's methods, for a tab that is being debugged. */
  constructor(options: DebuggingOptions, methods: Readonly<Record<string, DebugMethod>> = {}) {
    this.#options = options;
    this.#methods = methods;
  }

  /** Answers a request of the host's, once it is known what an earlier life of the worker debugged. */
  async answer(method: string, params: unknown): Promise<unknown> {
    await this.#restored;
    const caller = readCaller(method, params);
    try {
      return await this.#answer(method, caller, params);
    } finally {
      this.#used(caller.tab);
    }
  }

  /** A session that nothing needs for a while is ended: the debugger is off again. */
  #used(tab: number): void {
    clearTimeout(this.#resting.get(tab));
    this.#resting.delete(tab);
    if (!this.#sessions.has(tab)) return;
    const rest = (): void => {
      if (this.#sessions.get(tab)?.idle === true) void this.#end(tab, ResumedAgent);
      else this.#used(tab);
    };
    this.#resting.set(tab, setTimeout(rest, IDLE_MS));
  }

  async #answer(method: string, caller: DebugCaller, params: unknown): Promise<unknown> {
    switch (method) {
      case MethodDebugState:
        return await this.#state(readStateParams(method, params));
      case MethodDebugScripts:
        return scripts(await this.#begin(caller));
      case MethodDebugMap:
        return inlineMap(this.#sessions.get(caller.tab), readMapParams(method, params).url);
      case MethodDebugBreakpoint:
        return await this.#setBreakpoint(readBreakpointParams(method, params));
      case MethodDebugRemove:
        await this.#sessions.get(caller.tab)?.breakpoints.remove(readRemoveParams(method, params).id);
        this.#remember();
        return {};
      case MethodDebugRun:
        return await this.#run(readRunParams(method, params));
      case MethodDebugEvaluate:
        return await this.#evaluate(readEvaluateParams(method, params));
      case MethodDebugLeave:
        await this.#starting.get(caller.tab)?.catch(() => undefined);
        await this.#sessions.get(caller.tab)?.leave(caller.client ?? 0);
        this.#remember();
        return {};
      case MethodDebugEnd:
        await this.#starting.get(caller.tab)?.catch(() => undefined);
        await this.#end(caller.tab, ResumedAgent);
        return {};
    }
    const more = this.#methods[method];
    if (more === undefined)
      throw new CodedError(CodeUnknown, `The extension does not know the method "${method}".`);
    return await more(await this.#begin(caller), params);
  }

  /** The session of a tab that is debugged. */
  session(tab: number): DebugSession | undefined {
    return this.#sessions.get(tab);
  }

  /** The lengths of the code that a debugged tab loaded from an address, in UTF-16 units. */
  lengths(tab: number, url: string): number[] {
    return codeOf(this.#sessions.get(tab), url)
      .map(({ length }) => length)
      .filter((length) => length > 0);
  }

  /** Whether and why the page of a tab is paused. */
  paused(tab: number): TabPaused | undefined {
    return this.#pausedThread(tab, (kind) => kind === 'page');
  }

  /** Whether and why a worker of a page, or a frame in its own process, is paused. */
  pausedPart(tab: number): TabPaused | undefined {
    return this.#pausedThread(tab, (kind) => kind !== 'page');
  }

  #pausedThread(tab: number, of: (kind: string) => boolean): TabPaused | undefined {
    const threads = [...(this.#sessions.get(tab)?.threads.values() ?? [])];
    const thread = threads.find(({ kind, paused }) => of(kind) && paused?.place !== undefined);
    if (thread?.paused === undefined) return undefined;
    const { kind, paused } = thread;
    const { at, by, reason, place } = paused;
    return {
      at,
      reason,
      ...(kind !== 'page' && { kind }),
      ...(by !== '' && { by }),
      ...(place && { place: shorten(place) }),
    };
  }

  /** Resolves when the page of a tab is paused, at once if it already is. The caller says when to cancel. */
  whenPaused(tab: number): { promise: Promise<void>; forget(): void } {
    if (this.paused(tab) !== undefined) return { promise: Promise.resolve(), forget: () => undefined };
    let waiter: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      waiter = () => {
        if (this.paused(tab) !== undefined) resolve();
      };
      this.#waiters.add(waiter);
    });
    return { promise, forget: () => void this.#waiters.delete(waiter) };
  }

  /** The user resumes everything in a tab. */
  async resumeByPerson(tab: number): Promise<void> {
    const threads = [...(this.#sessions.get(tab)?.threads.values() ?? [])];
    await Promise.all(
      threads.map((thread) =>
        this.#sessions
          .get(tab)
          ?.resume(thread, ResumedPerson)
          .catch(() => undefined),
      ),
    );
  }

  /** Takes an event of `chrome.debugger.onEvent`, before anybody lets a new target run. */
  event(
    { tabId, sessionId }: { tabId?: number | undefined; sessionId?: string | undefined },
    method: string,
    params: unknown,
  ): void {
    if (tabId === undefined) return;
    switch (method) {
      case 'Target.attachedToTarget':
        this.#attached(tabId, params as Protocol.Target.AttachedToTargetEvent);
        return;
      case 'Target.detachedFromTarget': {
        const { sessionId: gone } = params as Protocol.Target.DetachedFromTargetEvent;
        const targets = this.#targets.get(tabId);
        const target = targets?.list.get(gone);
        if (target === undefined) return;
        targets?.list.delete(gone);
        this.#sessions.get(tabId)?.lost(target.id);
        return;
      }
    }
    this.#sessions.get(tabId)?.event(sessionId, method, params);
  }

  #attached(tab: number, { sessionId, targetInfo }: Protocol.Target.AttachedToTargetEvent): void {
    const kind = kinds[targetInfo.type];
    if (kind === undefined) return;
    const targets = this.#of(tab);
    const target: Target = { id: ++targets.last, session: sessionId, kind, url: targetInfo.url };
    targets.list.set(sessionId, target);
    const session = this.#sessions.get(tab);
    if (session === undefined) return;
    void session.begin(target).catch(() => undefined);
    if (session.own) letRun(session, target);
  }

  #of(tab: number): Targets {
    let targets = this.#targets.get(tab);
    if (targets === undefined) {
      targets = { list: new Map([['', { id: 1, session: undefined, kind: 'page', url: '' }]]), last: 1 };
      this.#targets.set(tab, targets);
    }
    return targets;
  }

  /** The browser has detached from a tab, or the tab was closed. */
  detached(tab: number | undefined, reason: string): void {
    if (tab === undefined) return;
    this.#targets.delete(tab);
    const why = reason === 'canceled_by_user' ? 'the user closed the debugging bar' : 'the tab was closed';
    void this.#end(tab, reason === 'canceled_by_user' ? ResumedPerson : ResumedGone, why);
  }

  /** A tab is about to show another document: a page that is paused could not leave. */
  leaving(tab: number): void {
    const session = this.#sessions.get(tab);
    const page = session?.threads.get(1);
    if (page !== undefined) void session?.leaveDocument(page).catch(() => undefined);
  }

  /** A tab shows another document, since a time in milliseconds since the epoch. */
  left(tab: number, at: number): void {
    const session = this.#sessions.get(tab);
    const page = session?.threads.get(1);
    if (page !== undefined) session?.left(page, at);
  }

  /** Whether a frame in another process than the page is paused. */
  framePaused(tab: number): boolean {
    const threads = [...(this.#sessions.get(tab)?.threads.values() ?? [])];
    return threads.some(({ kind, paused }) => kind === 'iframe' && paused !== undefined);
  }

  /** The host is reachable or not; `run` identifies its run. */
  host(run: string | undefined): void {
    clearTimeout(this.#gone);
    if (run === undefined) {
      this.#gone = setTimeout(() => void this.#endAll(ResumedHost), HOST_GONE_MS);
    } else {
      if (this.#hostRun !== undefined && this.#hostRun !== run) void this.#endAll(ResumedHost);
      this.#hostRun = run;
    }
  }

  async #endAll(how: string): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((tab) => this.#end(tab, how, 'Tidemark was restarted')));
  }

  /** Restores the debug sessions of an earlier run of the worker: breakpoints are set again, pauses have ended. */
  async restore(memory: DebugMemory | undefined): Promise<void> {
    await Promise.all(
      Object.entries(memory ?? {}).map(async ([id, { caller, began, breakpoints, exceptions, paused }]) => {
        const tab = Number(id);
        try {
          const session = await this.#begin(caller, { began, exceptions });
          await Promise.all(breakpoints.map((breakpoint) => session.breakpoints.set(breakpoint)));
          const page = session.threads.get(1);
          if (paused && page !== undefined && page.paused === undefined)
            page.resumed = { at: Date.now(), how: ResumedWorker };
        } catch {
          this.#ended.set(tab, { why: 'the extension was restarted', at: Date.now() });
        }
      }),
    );
    this.#nowRestored();
  }

  #remember(): void {
    const memory: DebugMemory = {};
    for (const [tab, { caller, began, breakpoints, exceptions, threads }] of this.#sessions) {
      memory[tab] = {
        caller,
        began,
        exceptions: [...exceptions],
        breakpoints: [...breakpoints.all.values()].map(
          ({ id, client, places, condition, hit_count, original }): DebugBreakpoint => ({
            id,
            places,
            ...(client !== undefined && { client }),
            ...(condition !== undefined && { condition }),
            ...(hit_count !== undefined && { hit_count }),
            ...(original !== undefined && { original }),
          }),
        ),
        paused: threads.get(1)?.paused !== undefined,
      };
    }
    this.#options.remember(memory);
  }

  /** The session of a tab, begun if need be. */
  async #begin(caller: DebugCaller, earlier?: Earlier): Promise<DebugSession> {
    const { tab } = caller;
    const running = this.#sessions.get(tab);
    if (running !== undefined) {
      running.caller = caller;
      return running;
    }
    let starting = this.#starting.get(tab);
    if (starting === undefined) {
      starting = this.#start(caller, earlier).finally(() => this.#starting.delete(tab));
      this.#starting.set(tab, starting);
    }
    return await starting;
  }

  async #start(caller: DebugCaller, earlier?: Earlier): Promise<DebugSession> {
    const { tab } = caller;
    const url = await this.#options.page(tab);
    if (url === undefined) throw new CodedError(CodeUnavailable, 'The tab is not watched.');
    const { api } = this.#options;
    const shared = api.attached(tab);
    await api.attach({ tabId: tab }, '1.3');
    const targets = this.#of(tab);
    const session = new DebugSession(caller, {
      tab,
      own: !shared,
      ...earlier,
      send: (sessionId, method, params) =>
        api.sendCommand(sessionId === undefined ? { tabId: tab } : { tabId: tab, sessionId }, method, params),
      resolve: async (script, map) => {
        const answer = await this.#options.request(MethodDebugScript, { tab, url: script, map });
        return (answer as DebugScriptResult).breakpoints;
      },
      names: async (script, map, places) =>
        (await this.#options.request(MethodDebugNames, { tab, url: script, map, places })) as DebugNames,
      place: async (frame) =>
        ((await this.#options.request(MethodDebugPlace, { tab, frame })) as DebugPlaceText).place,
    });
    this.#sessions.set(tab, session);
    this.#ended.delete(tab);
    session.on((event) => {
      if (event.type === 'paused' || event.type === 'resumed') {
        for (const waiter of this.#waiters) waiter();
        this.#options.changed(tab);
        this.#remember();
      }
    });
    await Promise.all(
      [...targets.list.values()].map((target) =>
        session.begin(target).catch((error: unknown) => {
          if (target.id === 1) throw error;
        }),
      ),
    );
    if (session.own) {
      const page = targets.list.get('');
      if (page !== undefined) follow(session, page);
    }
    this.#remember();
    return session;
  }

  async #end(tab: number, how: string, why?: string): Promise<void> {
    const session = this.#sessions.get(tab);
    if (session === undefined) return;
    this.#sessions.delete(tab);
    if (why !== undefined) this.#ended.set(tab, { why, at: Date.now() });
    await session.end(how);
    await this.#options.api.detach({ tabId: tab }).catch(() => undefined);
    this.#remember();
    this.#options.changed(tab);
  }

  async #state(params: DebugStateParams): Promise<DebugState> {
    const { tab, thread = 0, wait_ms = 0 } = params;
    const session = wait_ms > 0 ? await this.#begin(params) : this.#sessions.get(tab);
    const url = await this.#options.page(tab);
    const page = this.#of(tab).list.get('');
    if (page !== undefined) page.url = url ?? '';
    if (session === undefined) {
      const ended = this.#ended.get(tab);
      return {
        ...idleState(this.#of(tab).list.values()),
        ...(ended !== undefined && { ended: ended.why, ended_at: ended.at }),
      };
    }
    if (thread !== 0) session.thread(thread);
    await session.waitForPause(thread, wait_ms);
    await Promise.all([session.nameThreads(), session.whetherEnding()]);
    const first = session.threads.get(1);
    if (first !== undefined) first.url = url ?? '';
    return sessionState(session);
  }

  async #setBreakpoint(params: DebugBreakpointParams): Promise<DebugPlaced> {
    const session = await this.#begin(params);
    const { breakpoint } = params;
    if (breakpoint.condition) await session.breakpoints.checkCondition(breakpoint.condition);
    if (session.hasLeft(params)) throw new CodedError(CodeInvalid, 'The client that asked has disconnected.');
    await session.breakpoints.set(breakpoint);
    this.#remember();
    return {
      locations: session.breakpoints.locations(breakpoint.id),
      hits: session.breakpoints.all.get(breakpoint.id)?.hits ?? 0,
    };
  }

  async #run(params: DebugRunParams): Promise<DebugState> {
    const { tab, kind, exceptions, wait_ms = 0 } = params;
    if (kind === 'release') {
      await this.resumeByPerson(tab);
      return await this.#state({ ...params, wait_ms: 0 });
    }
    if (kind === 'pause' || kind === 'exceptions') {
      const session = await this.#begin(params);
      if (exceptions) await session.pauseOnExceptions(params.client ?? 0, readExceptions(exceptions));
      if (kind === 'pause') await session.pause(session.thread(params.thread || 1));
      this.#remember();
      return await this.#state({ ...params, wait_ms });
    }
    const session = this.#sessions.get(tab);
    if (session === undefined)
      throw new CodedError(CodeInvalid, 'Nothing is paused: the tab is not being debugged.');
    session.caller = params;
    const thread = session.pausedThread(params.thread ?? 0);
    if (kind === 'resume') {
      await session.resume(thread, ResumedAgent);
      return await this.#state({ ...params, thread: 0, wait_ms }); // whichever thread is paused next
    }
    await session.step(thread, readStep(kind));
    const stepped = await this.#state({ ...params, thread: thread.id, wait_ms });
    if (wait_ms > 0 && thread.asked === 'step') giveUp(thread);
    return stepped;
  }

  async #evaluate(params: DebugEvaluateParams): Promise<DebugValue> {
    const session = this.#sessions.get(params.tab);
    if (session === undefined)
      throw new CodedError(CodeInvalid, 'Nothing is paused: the tab is not being debugged.');
    return await evaluate(session, params);
  }
}

/** Addresses of code, as the page loaded it and as webpack evaluates modules. */
const CODE = /^(?:https?|webpack-internal):/;

function scripts(session: DebugSession): DebugScripts {
  const found = new Map<string, DebugScriptLine>();
  for (const { scripts } of session.threads.values()) {
    for (const { url, map } of scripts.values()) {
      if (!CODE.test(url)) continue;
      found.delete(url); // one that was loaded again is a new one
      found.set(url, { url, ...(map !== '' && { map: map.startsWith('data:') ? 'data:' : map }) });
    }
  }
  return { scripts: [...found.values()] };
}

/** The code of an address, the newest last. */
function codeOf(session: DebugSession | undefined, url: string): Script[] {
  const all = [...(session?.threads.values() ?? [])].flatMap(({ scripts }) => [...scripts.values()]);
  return all.filter((script) => script.url === url);
}

/** The source map in the newest code of an address. */
function inlineMap(session: DebugSession | undefined, url: string): DebugMap {
  const map = codeOf(session, url).at(-1)?.map ?? '';
  return map.startsWith('data:') ? { map } : {};
}

/** Has the targets below one be attached, and wait for it. */
function follow(session: DebugSession, target: Target): void {
  void session
    .send(target, 'Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true })
    .catch(() => undefined);
}

function letRun(session: DebugSession, target: Target): void {
  follow(session, target);
  void session.send(target, 'Runtime.runIfWaitingForDebugger').catch(() => undefined);
}
