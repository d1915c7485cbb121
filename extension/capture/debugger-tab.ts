/** One tab under the debugger: its sessions, and who takes which of their events. */
import type { Protocol } from 'devtools-protocol';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping';
import { STACK_DEPTH } from '../page/records';
import { type LoggedFailure, loggedFailure } from './backfill';
import { within } from './catch-up';
import { type Console, consoleCall, exception, logEntry } from './console/console';
import { groupsIn, readGroup } from './console/format';
import type { Session, TabContext } from './context';
import { NetworkTracker } from './network';
import { PageTracker } from './page';
import { originOf, type WorkerHost } from './shared-workers';
import type { StartOptions, Where } from './source';
import { ASYNC_DEPTH } from './stack';
import type { WebRequestWitness } from './webrequest';
import { WebSocketTracker } from './websocket';

type Events = ProtocolMapping.Events;
type Handlers = { [E in keyof Events]?: (session: Session, event: Events[E][0]) => void };

/** How long a worker's entry in the page's log waits for the worker's own session, in ms; that of a shared one comes later. */
const WORKER_ENTRY_MS = 300;
const SHARED_ENTRY_MS = 800;

/** How long reading the errors of a group may take, in ms. */
const ERRORS_MS = 1000;

/** How many entries of earlier documents are remembered: as many as the browser replays. */
const MAX_SAID = 1000;
/** How much of a text counts, in UTF-16 units. */
const MAX_KEY = 100;

/** Service workers and shared workers belong to all tabs of their origin; one of the tabs reports for them. */
export interface SharedWorkers {
  /** Whether this tab is to report for the target. */
  claim(target: string, tab: number, session: Session): boolean;
  release(target: string, tab: number): void;
  /** A page has asked for the script of a worker. */
  asked(host: WorkerHost, script: string): void;
  /** A tab shows another page. */
  review(): void;
}

/** Receives a tab's debugger events and keeps what is known of it. */
export class DebuggerTab implements WorkerHost {
  readonly page: PageTracker;
  readonly network: NetworkTracker;
  readonly sockets: WebSocketTracker;
  /** The session of the tab itself. */
  readonly top: Session = {};
  /** Sessions of iframes and workers that report, by their ids, those of shared workers by their targets. */
  readonly children = new Map<string, Session>();
  /** Documents and workers in which scripts run: where timings are read. */
  readonly contexts = new Map<string, { session: Session; context?: number }>();
  /** Failures that the log reported for requests whose start was not seen. */
  readonly failures: LoggedFailure[] = [];

  readonly #tab: TabContext;
  readonly #witness: WebRequestWitness;
  readonly #shared: SharedWorkers;
  readonly #replayed = new Map<Session, number>();
  readonly #said = new Said();
  /** Sessions of service workers for which another tab reports, with their targets. */
  readonly #silent = new Map<string, string>();
  /** Shared workers that cannot be attached to, since when. */
  readonly #blind = new Map<string, number>();
  readonly #handlers: Handlers;
  readonly #options: StartOptions;
  /** Events that wait for {@link begin}; undefined afterwards. */
  #waiting: [sessionId: string | undefined, method: string, params: unknown][] | undefined = [];
  /** True while the tab shows a page that is not watched. */
  #muted = false;
  /** Entries whose errors are being read. */
  readonly #reading = new Set<Promise<void>>();
  /** How many documents the tab has shown. */
  #turn = 0;

  constructor(tab: TabContext, witness: WebRequestWitness, shared: SharedWorkers, options: StartOptions) {
    this.#tab = tab;
    this.#witness = witness;
    this.#shared = shared;
    this.#options = options;
    this.network = new NetworkTracker(tab, witness.forTab(tab.tab), (event) => this.#leadsAway(event));
    this.sockets = new WebSocketTracker(tab, (whole, url) => witness.adoptSocket(tab.tab, whole, url));
    this.page = new PageTracker(tab, {
      leaving: () => {
        this.sockets.leaving = true;
      },
      replaced: (loader, url) => this.#replaced(loader, url),
      crashed: () => this.#crashed(),
    });
    this.#handlers = this.#handle();
  }

  /** Takes one event of the debugger. Unused events cost one table lookup. */
  event(sessionId: string | undefined, method: string, params: unknown): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push([sessionId, method, params]);
      return;
    }
    if (this.#muted && !passes(method, params, this.#options.allowed)) return;
    const session = sessionId === undefined ? this.top : this.children.get(sessionId);
    if (session === undefined) return;
    const handler = this.#handlers[method as keyof Events] as
      | ((session: Session, event: unknown) => void)
      | undefined;
    handler?.(session, params);
  }

  /**
   * Lets events through, the waiting ones first. None pass while the tab's page is unknown, because it
   * might be a page that the user has not chosen to watch.
   */
  begin(shown: string | undefined): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#muted = shown === undefined || !this.#options.allowed(shown);
    for (const event of waiting) this.event(...event);
    this.#shared.review();
  }

  /** Whether another document was shown while events had to wait. */
  get replacedMeanwhile(): boolean {
    return (
      this.#waiting?.some(
        ([session, method]) => session === undefined && method === 'Page.frameNavigated',
      ) === true
    );
  }

  /** Whether the page that the tab shows is not watched. */
  get muted(): boolean {
    return this.#muted;
  }

  #leadsAway({
    type,
    requestId,
    loaderId,
    frameId,
    request,
  }: Protocol.Network.RequestWillBeSentEvent): boolean {
    return (
      type === 'Document' &&
      requestId === loaderId &&
      this.page.isTop(frameId) !== false &&
      !this.#options.allowed(request.url)
    );
  }

  #handle(): Handlers {
    const { network, sockets, page } = this;
    return {
      'Runtime.consoleAPICalled': (session, event) => {
        if (this.#wanted(session, event.timestamp))
          this.#sayOf(session, event.args, (where) => consoleCall(event, where));
      },
      'Runtime.exceptionThrown': (session, event) => {
        if (this.#wanted(session, event.timestamp))
          this.#sayOf(session, [event.exceptionDetails.exception], (where) => exception(event, where));
      },
      'Runtime.executionContextCreated': (session, { context }) => {
        const { isDefault } = (context.auxData ?? {}) as { isDefault?: boolean };
        if (isDefault !== false) this.contexts.set(context.uniqueId, { session, context: context.id });
      },
      'Runtime.executionContextDestroyed': (_, event) => this.contexts.delete(event.executionContextUniqueId),
      'Runtime.executionContextsCleared': (session) => this.#forgetContexts((other) => other === session),
      'Log.entryAdded': (session, { entry }) => this.#logEntry(session, entry),
      'Network.requestWillBeSent': (session, event) => {
        network.willBeSent(session, event);
        // A worker's script is a document of its own that no loader of the page loads.
        if (event.loaderId === '' && event.documentURL === event.request.url)
          this.#shared.asked(this, event.request.url);
      },
      'Network.requestServedFromCache': (_, event) => network.servedFromCache(event),
      'Network.responseReceived': (session, event) => network.response(session, event),
      'Network.dataReceived': (_, event) => network.data(event),
      'Network.loadingFinished': (session, event) => network.finished(session, event),
      'Network.loadingFailed': (_, event) => {
        network.failed(event);
        sockets.failed(event);
      },
      'Network.webSocketCreated': (session, event) => sockets.created(session, event),
      'Network.webSocketWillSendHandshakeRequest': (_, event) => sockets.handshakeRequest(event),
      'Network.webSocketHandshakeResponseReceived': (session, event) => sockets.handshake(session, event),
      'Network.webSocketFrameSent': (session, event) => sockets.frame(session, 'sent', event),
      'Network.webSocketFrameReceived': (session, event) => sockets.frame(session, 'received', event),
      'Network.webSocketFrameError': (session, event) => sockets.error(session, event),
      'Network.webSocketClosed': (session, event) => sockets.closed(session, event),
      'Page.frameStartedNavigating': (session, event) => {
        if (session === this.top) page.startedNavigating(event);
      },
      'Page.frameNavigated': (session, event) => {
        if (session !== this.top) return;
        page.navigated(event);
        if (event.frame.parentId === undefined) {
          this.#shared.review();
          this.#said.turn();
        }
      },
      'Page.domContentEventFired': (session) => {
        if (session !== this.top) return;
        network.documentRead(session);
        sockets.leaving = false;
      },
      'Page.frameStoppedLoading': (session, { frameId }) => {
        // An announced navigation may not happen: a download, a 204, a stop by the user.
        if (session === this.top && page.isTop(frameId) === true) sockets.leaving = false;
      },
      'Page.navigatedWithinDocument': (session, event) => {
        if (session === this.top) page.withinDocument(event);
      },
      'Inspector.targetCrashed': (session) => {
        if (session === this.top) page.crashed();
        else this.#ended(session);
      },
      'Target.attachedToTarget': (session, event) => this.#attached(session, event),
      'Target.detachedFromTarget': (_, { sessionId }) => {
        const session = this.children.get(sessionId);
        if (session !== undefined) this.#ended(session);
        else this.#endSilent(sessionId);
      },
    };
  }

  #where({ target }: Session): Where {
    return { tab: this.#tab.tab, target };
  }

  #wanted(session: Session, timestamp: number): boolean {
    return timestamp >= (this.#replayed.get(session) ?? this.#options.replayFrom);
  }

  #logEntry(session: Session, entry: Protocol.Log.LogEntry): void {
    if (!this.#wanted(session, entry.timestamp)) return;
    // The second half of a sentence about a blocked script, useless alone.
    if (entry.source === 'security' && entry.text.startsWith(' Note that ')) return;
    if (entry.source === 'worker') {
      this.#workerEntry(session, entry);
      return;
    }
    const failure = loggedFailure(entry);
    if (failure !== undefined && !this.network.has(failure.id)) {
      if (!this.#witness.name(this.#tab.tab, failure.url, failure.id)) this.failures.push(failure);
    }
    const request = entry.category === 'cors' ? this.network.corsEntry(entry.text) : undefined;
    this.#say(logEntry(entry, this.#where(session), request));
  }

  #say(entry: Console): void {
    if (this.#said.isNew(entry)) this.#tab.emit(entry);
  }

  /** Says what is made of values, once the groups of errors among them were read. */
  #sayOf(
    session: Session,
    values: readonly (Protocol.Runtime.RemoteObject | undefined)[],
    make: (where: Where) => Console | undefined,
  ): void {
    const say = (where: Where): void => {
      const entry = make(where);
      if (entry !== undefined) this.#say(entry);
    };
    const groups = groupsIn(values);
    if (groups.length === 0) {
      say(this.#where(session));
      return;
    }
    const turn = this.#turn;
    const reads = groups.map((group) => readGroup(this.#tab.send, session, group));
    const read = within(Promise.allSettled(reads), ERRORS_MS).then(() => {
      this.#reading.delete(read);
      say({ ...this.#where(session), left: session === this.top && turn !== this.#turn });
    });
    this.#reading.add(read);
  }

  /** Resolves when the entries whose errors are being read now have been reported. */
  async errorsRead(): Promise<void> {
    await Promise.all(this.#reading);
  }

  /** The page's log repeats what its workers' consoles say; it counts only when a worker is not attached. */
  #workerEntry(session: Session, entry: Protocol.Log.LogEntry): void {
    const { workerId } = entry; // not reported for a shared worker
    const known = (): boolean =>
      [...this.children.values()].some((child) =>
        workerId === undefined ? isShared(child) : child.targetId === workerId,
      );
    if (known()) return;
    setTimeout(
      () => {
        if (!known()) this.#tab.emit(logEntry(entry, this.#where(session)));
      },
      workerId === undefined ? SHARED_ENTRY_MS : WORKER_ENTRY_MS,
    );
  }

  get origin(): string | undefined {
    return this.#waiting !== undefined || this.#muted ? undefined : originOf(this.page.url);
  }

  begins(session: Session, from: number): void {
    if (session.targetId === undefined) return;
    this.children.set(session.targetId, session);
    this.#replayed.set(session, from);
    const { send } = this.#tab;
    const sent = [enableNetwork(session, send), ...enableConsole(session, send)];
    for (const command of sent) void command.catch(ignore);
  }

  ends(session: Session): void {
    this.#ended(session);
  }

  blind(worker: string): void {
    if (this.#blind.size === 0) this.#gap(this.#tab.clock.now(), 0);
    this.#blind.set(worker, this.#blind.values().next().value ?? this.#tab.clock.now());
  }

  seeing(worker: string): void {
    const from = this.#blind.get(worker);
    if (this.#blind.delete(worker) && this.#blind.size === 0) this.#gap(from ?? 0, this.#tab.clock.now());
  }

  #gap(from: number, to: number): void {
    const { emit, clock, tab } = this.#tab;
    emit({ kind: 'gap', at: clock.now(), tab, from, to, reason: 'shared_worker_unseen' });
  }

  /** Begins with an iframe or worker of the tab; it waits for that before its first script. */
  #attached(
    parent: Session,
    { sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent,
  ): void {
    const target = targets[targetInfo.type];
    const session: Session = { id: sessionId, target, targetId: targetInfo.targetId };
    const send: TabContext['send'] = (...args) => this.#tab.send(...args);
    const ours =
      target !== undefined &&
      !this.#muted &&
      (target !== 'service_worker' || this.#shared.claim(targetInfo.targetId, this.#tab.tab, session));
    if (!ours) {
      if (waitingForDebugger) void send(session, 'Runtime.runIfWaitingForDebugger').catch(ignore);
      // A session that reports nothing costs nothing; it is kept for when the reporting tab goes away.
      if (target === 'service_worker') this.#silent.set(sessionId, targetInfo.targetId);
      else void send(parent, 'Target.detachFromTarget', { sessionId }).catch(ignore);
      return;
    }
    // A worker that ran before this tab was there has said things that are not this tab's news.
    this.enable(
      session,
      target === 'service_worker' && !waitingForDebugger ? this.#tab.clock.now() : undefined,
    );
    if (waitingForDebugger) void send(session, 'Runtime.runIfWaitingForDebugger').catch(ignore);
  }

  /** Makes a child session report, from a time on if what it replays is not wanted. */
  enable(session: Session, from?: number): void {
    if (session.id === undefined) return;
    this.#silent.delete(session.id);
    this.children.set(session.id, session);
    if (from !== undefined) this.#replayed.set(session, from);
    const sent = [enableNetwork(session, this.#tab.send), ...enableRest(session, this.#tab.send)];
    for (const command of sent) void command.catch(ignore);
  }

  #ended(session: Session): void {
    const key = session.id ?? session.targetId;
    if (key !== undefined) this.children.delete(key);
    if (session.target === 'service_worker' && session.targetId !== undefined) {
      this.#shared.release(session.targetId, this.#tab.tab);
    }
    this.#replayed.delete(session);
    this.#forgetContexts((other) => other === session);
    this.network.abandon((flight) => flight.session === session);
    this.sockets.abandon((other) => other === session);
  }

  #endSilent(sessionId: string): void {
    const target = this.#silent.get(sessionId);
    this.#silent.delete(sessionId);
    if (target !== undefined) this.#shared.release(target, this.#tab.tab);
  }

  #forgetContexts(gone: (session: Session) => boolean): void {
    for (const [id, { session }] of this.contexts) if (gone(session)) this.contexts.delete(id);
  }

  #replaced(loader: string, url: string): boolean {
    this.#turn++;
    this.#muted = !this.#options.allowed(url);
    this.network.abandon(
      (flight) => flight.session === this.top && flight.loader !== loader && flight.resource !== 'ping',
    );
    this.sockets.abandon((session) => session === this.top);
    this.sockets.leaving = false;
    return !this.#muted;
  }

  #crashed(): void {
    for (const session of [...this.children.values()]) {
      if (session.target !== 'service_worker' && !isShared(session)) this.#ended(session);
    }
    this.contexts.clear();
    this.network.abandon(() => true, 'the page crashed');
    this.sockets.abandon(() => true);
  }

  /** Ends everything that can no longer be followed. */
  close(): void {
    for (const session of [...this.children.values()]) this.#ended(session);
    for (const id of [...this.#silent.keys()]) this.#endSilent(id);
    for (const worker of [...this.#blind.keys()]) this.seeing(worker);
    this.network.abandon(() => true, 'capture ended before the answer');
    this.sockets.abandon(() => true);
  }
}

/** Whether a session is that of a shared worker. */
function isShared({ id, targetId }: Session): boolean {
  return id === undefined && targetId !== undefined;
}

/** What is looked at while the tab shows a page that is not watched: only what leads to another one. */
function passes(method: string, params: unknown, allowed: (url: string) => boolean): boolean {
  if (method === 'Network.requestWillBeSent') {
    const { type, request } = params as Protocol.Network.RequestWillBeSentEvent;
    return type === 'Document' && allowed(request.url);
  }
  if (method.startsWith('Network.')) return !method.startsWith('Network.webSocket');
  return method.startsWith('Page.frame') || method.startsWith('Target.');
}

const targets: Record<string, Session['target']> = {
  iframe: 'iframe',
  worker: 'worker',
  shared_worker: 'worker',
  service_worker: 'service_worker',
};

/** Watches a session's requests. What ran before that is asked of the page; all else is replayed. */
export function enableNetwork(session: Session, send: TabContext['send']): Promise<unknown> {
  const limits = { maxTotalBufferSize: 32 << 20, maxResourceBufferSize: 4 << 20, maxPostDataSize: 64 << 10 };
  return send(session, 'Network.enable', limits);
}

/** Makes a session report all else, and its own frames and workers follow. */
export function enableRest(session: Session, send: TabContext['send']): Promise<unknown>[] {
  const follow = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
  return [send(session, 'Target.setAutoAttach', follow), ...enableConsole(session, send)];
}

/** How deep stacks are, and how many of those that scheduled them are kept; OBSERVED.md has what that costs. */
const STACK = { size: STACK_DEPTH };
const ASYNC = { maxDepth: ASYNC_DEPTH };

/** Has the consoles reported, and requests and connections with the code that scheduled them. */
function enableConsole(session: Session, send: TabContext['send']): Promise<unknown>[] {
  return [
    send(session, 'Runtime.enable'),
    send(session, 'Runtime.setMaxCallStackSizeToCapture', STACK),
    send(session, 'Debugger.setAsyncCallStackDepth', ASYNC),
    send(session, 'Log.enable'),
  ];
}

function ignore(): void {
  // The session went away in between: there is nothing left to do for it.
}

/** Recognizes what the console replays when a page comes back from the back/forward cache. */
class Said {
  /** Entries of this document, and of those before it. */
  #here = new Set<string>();
  readonly #before = new Set<string>();

  /** Reports whether an entry is not one that an earlier document of the tab already had. */
  isNew({ at, via, text }: Console): boolean {
    const key = `${at} ${via} ${text.slice(0, MAX_KEY)}`;
    if (this.#before.has(key)) return false;
    if (this.#here.size < MAX_SAID) this.#here.add(key);
    return true;
  }

  /** Begins another document. */
  turn(): void {
    for (const key of this.#here) this.#before.add(key);
    this.#here = new Set();
    for (const key of this.#before) {
      if (this.#before.size <= MAX_SAID) break;
      this.#before.delete(key);
    }
  }
}
