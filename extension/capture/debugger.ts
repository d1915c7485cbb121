/** Captures tabs through `chrome.debugger`. */

import { NAMED } from '../page/records';
import { PROBE, type Probe, readProbe } from './backfill';
import { Ledger, readRecords, within } from './catch-up';
import { MonotonicClock, type Send, type Session } from './context';
import { DebuggerTab, enableNetwork, enableRest, type SharedWorkers } from './debugger-tab';
import { PageWitness } from './page-witness';
import { SharedWorkerTargets, type TargetsAPI } from './shared-workers';
import type { CaptureSource, Emit, EndReason, Started, StartOptions } from './source';
import { sightedEvent, type WebRequestWitness } from './webrequest';

/** The part of `chrome.debugger` that is used. */
export interface DebuggerAPI {
  attach(target: { tabId: number }, version: string): Promise<void>;
  detach(target: { tabId: number }): Promise<void>;
  sendCommand(
    target: { tabId: number; sessionId?: string } | { targetId: string },
    method: string,
    params?: object,
  ): Promise<unknown>;
}

/** What the source needs beside the attachments to tabs. */
export interface DebuggerOptions {
  emit: Emit;
  witness: WebRequestWitness;
  /** Attachments to targets other than tabs. */
  targets: TargetsAPI;
  /** Flushes the page's witness; resolves when it has answered or timed out. */
  flush(tab: number): Promise<unknown>;
  clock?: MonotonicClock;
}

/** How long a page may take to answer while capture begins, in ms; a hung page is captured all the same. */
const ANSWER_MS = 2000;
/** How long both witnesses may take to report a request that started together with capture, in ms. */
const WITNESS_MS = 400;

/** For how long it may matter which requests were reported, in ms. */
const LEDGER_MS = 5000;

interface Attached {
  readonly tab: DebuggerTab;
  readonly send: Send;
  readonly emit: Emit;
  readonly ledger: Ledger;
  readonly page: PageWitness;
  /** True once it is known what was missed: not before may the account with the other witness be settled. */
  caughtUp: boolean;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/** What was found when capture began. */
interface Found {
  /** When capture began, and when everything was reported. */
  began: number;
  enabled: number;
  probe: Probe | undefined;
  /** The id of the top frame; empty if unknown. */
  frame: string;
}

const DETACHED = 'the debugger was detached while it was attaching';

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
  readonly #flush: (tab: number) => Promise<unknown>;
  readonly #workers: SharedWorkerTargets;
  readonly #tabs = new Map<number, Attached>();
  readonly #starting = new Map<number, Promise<Started>>();
  /** Tabs that were stopped while the debugger was still attaching. */
  readonly #canceled = new Set<number>();
  readonly #shared: SharedWorkers & { owners: Map<string, Map<number, Session>> };
  /** Called when capture of a tab ended without being asked to. */
  onEnd: ((tab: number, reason: EndReason) => void) | undefined;

  constructor(
    api: DebuggerAPI,
    { emit, witness, targets, flush, clock = new MonotonicClock() }: DebuggerOptions,
  ) {
    this.#api = api;
    this.#emit = emit;
    this.#witness = witness;
    this.#clock = clock;
    this.#flush = flush;
    this.#workers = new SharedWorkerTargets(
      targets,
      () => [...this.#tabs.values()].map(({ tab }) => tab),
      (target) => this.#shared.owners.has(target),
      () => clock.now(),
    );
    this.#shared = this.#sharedWorkers();
    witness.onEnded = (tab) => this.#settleSoon(tab);
    witness.onArrived = (tab, answer) => this.#tabs.get(tab)?.tab.network.arrived(answer);
  }

  start(tab: number, options: StartOptions): Promise<Started> {
    let starting = this.#starting.get(tab);
    if (starting !== undefined && this.#canceled.has(tab)) {
      const again = (): Promise<Started> => this.start(tab, options);
      return starting.then(again, again);
    }
    if (starting === undefined) {
      if (this.#tabs.has(tab)) return Promise.resolve({});
      starting = this.#start(tab, options).finally(() => {
        this.#starting.delete(tab);
        this.#canceled.delete(tab);
      });
      this.#starting.set(tab, starting);
    }
    return starting;
  }

  async #start(tabId: number, options: StartOptions): Promise<Started> {
    const began = this.#clock.now();
    await this.#api.attach({ tabId }, '1.3');
    if (this.#canceled.has(tabId)) {
      await this.#api.detach({ tabId }).catch(() => undefined);
      throw new Error(DETACHED);
    }
    const send: Send = (session, command, params) =>
      this.#api.sendCommand(addressee(tabId, session), command, params as object) as ReturnType<typeof send>;
    const ledger = new Ledger();
    const emit: Emit = (event) => {
      ledger.note(event);
      page.note(event);
      this.#emit(event);
    };
    const page = new PageWitness(tabId, (event) => this.#emit(event));
    const context = { tab: tabId, emit, send, clock: this.#clock };
    const tab = new DebuggerTab(context, this.#witness, this.#shared, options);
    const attached: Attached = { tab, send, emit, ledger, page, caughtUp: false };
    this.#tabs.set(tabId, attached);
    const { probe, frame } = await this.#enable(tab, send, options);
    if (this.#tabs.get(tabId) !== attached) throw new Error(DETACHED);
    const enabled = this.#clock.now();
    this.#witness.attached(tabId, enabled);
    const result = await this.#catchUp(tabId, attached, { began, enabled, probe, frame }, options);
    attached.caughtUp = true;
    void this.#documentReadAlready(attached);
    setTimeout(() => ledger.close(), LEDGER_MS);
    this.#settleSoon(tabId);
    return result;
  }

  /** Turns on what is needed and asks the page what it is, right after its requests are watched. */
  async #enable(
    { top }: DebuggerTab,
    send: Send,
    { shown, allowed }: StartOptions,
  ): Promise<Pick<Found, 'probe' | 'frame'>> {
    const network = enableNetwork(top, send);
    const first = this.#probe(top, send);
    const all = [network, ...enableRest(top, send), send(top, 'Page.enable'), send(top, 'Inspector.enable')];
    const tree = send(top, 'Page.getFrameTree').catch(() => undefined);
    await within(Promise.allSettled(all), ANSWER_MS);
    let answered = await within(tree, ANSWER_MS);
    let probe = await within(first, ANSWER_MS);
    // A tab whose server takes its time answers when the page is there. That page is not announced.
    if (probe === undefined && !allowed((await shown?.()) ?? '')) {
      probe = await first;
      answered = await tree;
    }
    const frame = answered?.frameTree.frame.id ?? '';
    // The document that answered may have been replaced before Page.enable could report it.
    if (probe === undefined || /^https?:/.test(probe.url)) return { probe, frame };
    return { probe: await within(this.#probe(top, send), ANSWER_MS), frame };
  }

  #probe(top: Session, send: Send): Promise<Probe | undefined> {
    return send(top, 'Runtime.evaluate', { expression: PROBE, returnByValue: true, silent: true }).then(
      ({ result }) => readProbe(result.value),
      () => undefined,
    );
  }

  /** A document may have loaded before Page.enable could report it. Nothing else would then report its end. */
  async #documentReadAlready({ tab, send }: Attached): Promise<void> {
    if (!tab.network.hasLateDocument(tab.top)) return;
    const expression = `document.readyState === 'loading' ? '' : location.href${NAMED}`;
    const { result } = await send(tab.top, 'Runtime.evaluate', {
      expression,
      returnByValue: true,
      silent: true,
    });
    const url = String(result.value ?? '').split('#', 1)[0];
    if (url) tab.network.documentRead(tab.top, url);
  }

  /** Lets events through, and finds out and reports what happened before them. */
  async #catchUp(
    tabId: number,
    { tab, send, ledger, emit }: Attached,
    found: Found,
    options: StartOptions,
  ): Promise<Started> {
    const { began, enabled, probe, frame } = found;
    const shown = probe?.url ?? (await options.shown?.());
    if (tab.replacedMeanwhile || shown === undefined || !options.allowed(shown)) {
      tab.begin(shown); // the document to watch is still to come, or was seen to come
      return {};
    }
    if (probe === undefined) {
      tab.page.present(frame, shown);
      tab.begin(shown);
      return { missed: { from: began, to: enabled } };
    }
    const document = Math.floor(probe.origin);
    const since = options.replayFrom;
    const known = document < since; // it was reported, but for what happened since
    const how = probe.type === 'reload' ? 'reload' : 'load';
    tab.page.present(frame, probe.url, known ? undefined : { how, at: document });
    tab.begin(shown);
    if (!known && probe.fresh) return {};
    const missed = known ? undefined : { from: document, to: enabled };
    // Replays and webRequest together saw all of it, but for what went over WebSockets.
    if (this.#witness.sawLoad(tabId, probe.url)) return this.#witness.missedFrames(tabId) ? { missed } : {};
    await readRecords({ tabId, tab, send, witness: this.#witness, ledger, emit, since, until: enabled });
    return { missed };
  }

  #settleSoon(tabId: number): void {
    const attached = this.#tabs.get(tabId);
    if (attached?.caughtUp === true)
      attached.timer ??= setTimeout(() => this.#settle(tabId, attached), WITNESS_MS);
  }

  /** Reports the requests that only webRequest saw, as far as they have ended. */
  #settle(tabId: number, attached: Attached): void {
    clearTimeout(attached.timer);
    attached.timer = undefined;
    if (!attached.caughtUp) return;
    for (const sighting of this.#witness.takeEnded(tabId)) attached.emit(sightedEvent(tabId, sighting));
  }

  async stop(tabId: number): Promise<void> {
    const attached = this.#forget(tabId);
    if (attached !== undefined) await this.#api.detach({ tabId }).catch(() => undefined);
    else if (this.#starting.has(tabId)) this.#canceled.add(tabId);
  }

  runs(tabId: number): boolean {
    return this.#tabs.has(tabId) && !this.#starting.has(tabId);
  }

  /** Takes an event of `chrome.debugger.onEvent`. */
  event(
    {
      tabId,
      sessionId,
      targetId,
    }: {
      tabId?: number | undefined;
      sessionId?: string | undefined;
      targetId?: string | undefined;
    },
    method: string,
    params: unknown,
  ): void {
    if (tabId !== undefined) this.#tabs.get(tabId)?.tab.event(sessionId, method, params);
    else if (targetId !== undefined) this.#workers.event(targetId, method, params);
  }

  /** Takes the records of the witnesses in a tab's pages. */
  page(tabId: number, frame: number, lists: readonly string[], dropped = 0): void {
    this.#tabs.get(tabId)?.page.take(frame, lists, dropped);
  }

  /** Takes an event of `chrome.debugger.onDetach`. */
  detached(
    { tabId, targetId }: { tabId?: number | undefined; targetId?: string | undefined },
    reason: string,
  ): void {
    if (targetId !== undefined) this.#workers.detached(targetId);
    if (tabId === undefined || this.#forget(tabId) === undefined) return;
    this.onEnd?.(tabId, reason === 'canceled_by_user' ? 'canceled_by_user' : 'closed');
  }

  #forget(tabId: number): Attached | undefined {
    const attached = this.#tabs.get(tabId);
    if (attached === undefined) return undefined;
    this.#settle(tabId, attached);
    this.#tabs.delete(tabId);
    this.#witness.forget(tabId);
    attached.page.settle();
    attached.tab.close();
    this.#workers.review();
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
    await Promise.all([
      ...sessions.map((session) =>
        send(session, 'Runtime.evaluate', {
          expression: `0${NAMED}`,
          silent: true,
          returnByValue: true,
        }).catch((error: unknown) => {
          if (session === tab.top) throw error;
        }),
      ),
      this.#flush(tabId),
    ]);
    await tab.errorsRead();
    await tab.network.unreadOver();
    await tab.network.bodiesRead();
    attached.page.settle();
    if (attached.timer !== undefined) this.#settle(tabId, attached);
  }

  /** Lets one tab report for each service worker and shared worker, and another one after that tab closes. */
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
      asked: (host, script) => this.#workers.asked(host, script),
      review: () => this.#workers.review(),
    };
  }
}

/** Whom a command to a session is sent to. */
function addressee(
  tabId: number,
  { id, targetId }: Session,
): { tabId: number; sessionId?: string } | { targetId: string } {
  if (id !== undefined) return { tabId, sessionId: id };
  return targetId === undefined ? { tabId } : { targetId };
}
