/** Captures tabs through `chrome.debugger`. */
import { backfill, PROBE, type Probe, readProbe, readTimings, TIMINGS } from './backfill';
import { MonotonicClock, type Send, type Session } from './context';
import { DebuggerTab, enableNetwork, enableRest, type SharedWorkers } from './debugger-tab';
import type { CaptureSource, Emit, EndReason, Started, StartOptions } from './source';
import { sightedEvent, type WebRequestWitness } from './webrequest';

/** The part of `chrome.debugger` that is used. */
export interface DebuggerAPI {
  attach(target: { tabId: number }, version: string): Promise<void>;
  detach(target: { tabId: number }): Promise<void>;
  sendCommand(
    target: { tabId: number; sessionId?: string },
    method: string,
    params?: object,
  ): Promise<unknown>;
}

/** How long a page may take to answer while capture begins, in ms; a hung page is captured all the same. */
const ANSWER_MS = 2000;
/** How long both witnesses may take to tell of a request that began while capture did, in ms. */
const WITNESS_MS = 200;

interface Attached {
  readonly tab: DebuggerTab;
  readonly send: Send;
  /** Settles the account with the other witness; also when asked to before its time. */
  settle(): void;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/**
 * The debugger sees everything from the moment it is attached, in a tab's workers and frames of other
 * processes too. What was missed before that it gets from replays, from webRequest and from the page's
 * own timing, and it says what may be missing.
 */
export class DebuggerSource implements CaptureSource {
  readonly name = 'debugger';
  readonly #api: DebuggerAPI;
  readonly #emit: Emit;
  readonly #witness: WebRequestWitness;
  readonly #clock: MonotonicClock;
  readonly #tabs = new Map<number, Attached>();
  readonly #starting = new Map<number, Promise<Started>>();
  readonly #shared: SharedWorkers & { owners: Map<string, Map<number, Session>> };
  /** Called when capture of a tab ended without being asked to. */
  onEnd: ((tab: number, reason: EndReason) => void) | undefined;

  constructor(api: DebuggerAPI, emit: Emit, witness: WebRequestWitness, clock = new MonotonicClock()) {
    this.#api = api;
    this.#emit = emit;
    this.#witness = witness;
    this.#clock = clock;
    this.#shared = this.#sharedWorkers();
    witness.onEnded = (tab) => this.#tabs.get(tab)?.settle();
  }

  start(tab: number, options: StartOptions): Promise<Started> {
    let starting = this.#starting.get(tab);
    if (starting === undefined) {
      if (this.#tabs.has(tab)) return Promise.resolve({});
      starting = this.#start(tab, options).finally(() => this.#starting.delete(tab));
      this.#starting.set(tab, starting);
    }
    return starting;
  }

  async #start(tabId: number, options: StartOptions): Promise<Started> {
    const began = this.#clock.now();
    await this.#attach(tabId);
    const send: Send = (session, command, params) =>
      this.#api.sendCommand(
        session.id === undefined ? { tabId } : { tabId, sessionId: session.id },
        command,
        params as object,
      ) as ReturnType<typeof send>;
    const context = { tab: tabId, emit: this.#emit, send, clock: this.#clock };
    const tab = new DebuggerTab(context, this.#witness, this.#shared, options);
    const attached: Attached = { tab, send, settle: () => this.#settle(tabId) };
    this.#tabs.set(tabId, attached);
    const probe = await this.#enable(tab, send);
    tab.begin(probe?.url ?? options.shown);
    if (this.#tabs.get(tabId) !== attached)
      throw new Error('the debugger was detached while it was attaching');
    const enabledAt = this.#clock.now();
    this.#witness.attached(tabId, enabledAt);
    const result = await this.#catchUp(tabId, attached, { began, enabledAt, probe, options });
    attached.timer = setTimeout(attached.settle, WITNESS_MS);
    return result;
  }

  async #attach(tabId: number): Promise<void> {
    try {
      await this.#api.attach({ tabId }, '1.3');
    } catch (error) {
      // An earlier life of this worker may have left its own session behind.
      if (!/already attached/.test(String(error))) throw error;
      await this.#api.detach({ tabId });
      await this.#api.attach({ tabId }, '1.3');
    }
  }

  /** Turns on what is needed and asks the page what it is, right after its requests are watched. */
  async #enable({ top }: DebuggerTab, send: Send): Promise<Probe | undefined> {
    const network = enableNetwork(top, send);
    const first = this.#probe(top, send);
    const all = [network, ...enableRest(top, send), send(top, 'Page.enable'), send(top, 'Inspector.enable')];
    await within(Promise.allSettled(all), ANSWER_MS);
    const probe = await within(first, ANSWER_MS);
    // The document that answered may have been replaced before Page.enable could tell of it.
    return probe === undefined || /^https?:/.test(probe.url)
      ? probe
      : await within(this.#probe(top, send), ANSWER_MS);
  }

  #probe(top: Session, send: Send): Promise<Probe | undefined> {
    return send(top, 'Runtime.evaluate', { expression: PROBE, returnByValue: true, silent: true }).then(
      ({ result }) => readProbe(result.value),
      () => undefined,
    );
  }

  /** Finds out what happened before capture, and reports what can be had of it. */
  async #catchUp(
    tabId: number,
    { tab, send }: Attached,
    {
      began,
      enabledAt,
      probe,
      options,
    }: { began: number; enabledAt: number; probe: Probe | undefined; options: StartOptions },
  ): Promise<Started> {
    if (probe === undefined) {
      return tab.page.committed ? {} : { missed: { from: began, to: enabledAt } };
    }
    if (tab.page.committed || tab.muted) return {};
    const frame = await this.#topFrame(tab, send);
    const document = Math.floor(probe.origin);
    if (options.knownDocument !== undefined && Math.abs(options.knownDocument - document) < 2) {
      tab.page.present(frame, probe.url); // an earlier life of the worker has reported it
      return { document };
    }
    tab.page.present(frame, probe.url, { how: probe.type === 'reload' ? 'reload' : 'load', at: document });
    if (probe.fresh) return { document };
    const missed = { from: document, to: enabledAt };
    // Replays and webRequest together saw all of it, but for what went over WebSockets.
    if (this.#witness.sawLoad(tabId, probe.url))
      return this.#witness.sawSocket(tabId) ? { document, missed } : { document };
    await this.#readTimings(tabId, tab, send, enabledAt);
    return { document, missed };
  }

  async #topFrame(tab: DebuggerTab, send: Send): Promise<string> {
    const tree = await within(
      send(tab.top, 'Page.getFrameTree').catch(() => undefined),
      ANSWER_MS,
    );
    return tree?.frameTree.frame.id ?? '';
  }

  async #readTimings(tabId: number, tab: DebuggerTab, send: Send, until: number): Promise<void> {
    const asked = [...tab.contexts.values()].map(({ session, context }) =>
      send(session, 'Runtime.evaluate', {
        expression: TIMINGS,
        returnByValue: true,
        silent: true,
        ...(context !== undefined && { contextId: context }),
      }).then(
        ({ result }) => readTimings(result.value),
        () => readTimings(undefined),
      ),
    );
    const timings = (await within(Promise.all(asked), ANSWER_MS)) ?? [];
    const known = [...this.#witness.seen(tabId), ...tab.network.takeFirst(until)];
    const failures = tab.failures.splice(0);
    for (const { origin, entries } of timings) {
      const before = entries.filter((entry) => origin + entry.start < until);
      const urls = new Set(before.map((entry) => entry.name));
      const theirs = failures.filter((failure) => urls.has(failure.url));
      for (const event of backfill(tabId, { origin, entries: before }, theirs, known)) this.#emit(event);
      for (const failure of theirs) failures.splice(failures.indexOf(failure), 1);
    }
    const untimed = { origin: 0, entries: [] };
    for (const event of backfill(tabId, untimed, failures, known)) this.#emit(event);
  }

  /** Reports the requests that only webRequest saw, as far as they have ended. */
  #settle(tabId: number): void {
    const attached = this.#tabs.get(tabId);
    if (attached === undefined) return;
    clearTimeout(attached.timer);
    attached.timer = undefined;
    attached.tab.network.takeFirst(0);
    for (const sighting of this.#witness.takeEnded(tabId)) this.#emit(sightedEvent(tabId, sighting));
  }

  async stop(tabId: number): Promise<void> {
    const attached = this.#forget(tabId);
    if (attached !== undefined) await this.#api.detach({ tabId }).catch(() => undefined);
  }

  runs(tabId: number): boolean {
    return this.#tabs.has(tabId) && !this.#starting.has(tabId);
  }

  /** Takes an event of `chrome.debugger.onEvent`. */
  event(
    source: { tabId?: number | undefined; sessionId?: string | undefined },
    method: string,
    params: unknown,
  ): void {
    if (source.tabId !== undefined) this.#tabs.get(source.tabId)?.tab.event(source.sessionId, method, params);
  }

  /** Takes an event of `chrome.debugger.onDetach`. */
  detached(tabId: number | undefined, reason: string): void {
    if (tabId === undefined || this.#forget(tabId) === undefined) return;
    this.onEnd?.(tabId, reason === 'canceled_by_user' ? 'canceled_by_user' : 'closed');
  }

  #forget(tabId: number): Attached | undefined {
    const attached = this.#tabs.get(tabId);
    if (attached === undefined) return undefined;
    attached.settle();
    this.#tabs.delete(tabId);
    this.#witness.forget(tabId);
    attached.tab.close();
    return attached;
  }

  /**
   * A command's answer comes after the events that its session sent before it: one round to each
   * session is enough. Bodies that are being read belong to requests that ended before.
   */
  async barrier(tabId: number): Promise<void> {
    await this.#starting.get(tabId);
    const attached = this.#tabs.get(tabId);
    if (attached === undefined) throw new Error(`tab ${tabId} is not captured`);
    const { tab, send } = attached;
    const sessions = [tab.top, ...tab.children.values()];
    await Promise.all(
      sessions.map((session) =>
        send(session, 'Runtime.evaluate', { expression: '0', silent: true, returnByValue: true }).catch(
          (error: unknown) => {
            if (session === tab.top) throw error;
          },
        ),
      ),
    );
    tab.network.flush();
    await tab.network.bodiesRead();
    if (attached.timer !== undefined) attached.settle();
  }

  /** Lets one tab report for each service worker, and another one when that tab is gone. */
  #sharedWorkers(): SharedWorkers & { owners: Map<string, Map<number, Session>> } {
    const owners = new Map<string, Map<number, Session>>();
    return {
      owners,
      claim: (target, tab, session) => {
        const tabs = owners.get(target) ?? new Map<number, Session>();
        owners.set(target, tabs);
        tabs.set(tab, session);
        return tabs.keys().next().value === tab;
      },
      release: (target, tab) => {
        const tabs = owners.get(target);
        if (tabs === undefined) return;
        const reported = tabs.keys().next().value === tab;
        tabs.delete(tab);
        const next = tabs.entries().next().value;
        if (next === undefined) owners.delete(target);
        else if (reported) this.#tabs.get(next[0])?.tab.enable(next[1], this.#clock.now());
      },
    };
  }
}

/** What a promise gives, or undefined when it takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
