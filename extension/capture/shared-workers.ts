/**
 * Shared workers beside the debugger. They belong to no tab, so Chromium attaches no session of a tab to one;
 * as targets of their own they can be attached to. One tab of the worker's origin reports for it.
 */
import type { Session } from './context';
import { withoutHash } from './text';

/** The part of `chrome.debugger` that is used for targets other than tabs. */
export interface TargetsAPI {
  getTargets(): Promise<readonly TargetInfo[]>;
  attach(target: { targetId: string }, version: string): Promise<void>;
  detach(target: { targetId: string }): Promise<void>;
}

/** Chromium's description of a target. */
export interface TargetInfo {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly url: string;
}

/** A tab that can report for a worker. */
export interface WorkerHost {
  /** The origin of the page that it shows; undefined while it shows none that is watched. */
  readonly origin: string | undefined;
  /** Makes the worker's session report what happens from a time on (milliseconds since the epoch), or ends it. */
  begins(session: Session, from: number): void;
  ends(session: Session): void;
  /** Takes an event of the session of a worker. */
  event(worker: string, method: string, params: unknown): void;
  /** The page has a worker that cannot be observed. */
  blind(worker: string): void;
  seeing(worker: string): void;
}

/** When it is looked for a worker after a page has asked for its script, in ms, and when for others. */
const LOOKS_MS = [0, 60, 200, 600, 1500];
const REVIEW_MS = 100;
/** The most scripts of which it is known who asked for them last. */
const MAX_ASKED = 100;

interface Attached {
  readonly session: Session;
  readonly origin: string;
  host: WorkerHost;
}

/** Attaches to the shared workers of the pages that are captured by the debugger. */
export class SharedWorkerTargets {
  readonly #api: TargetsAPI;
  readonly #hosts: () => Iterable<WorkerHost>;
  /** Whether a target is a worker that a tab's own sessions have. */
  readonly #known: (target: string) => boolean;
  readonly #attached = new Map<string, Attached>();
  /** Workers that could not be attached to, and the hosts that were notified. */
  readonly #refused = new Map<string, { origin: string; hosts: Set<WorkerHost> }>();
  /** Who asked for a worker's script last, and when. */
  readonly #asked = new Map<string, { host: WorkerHost; at: number }>();
  readonly #now: () => number;
  #looking: Promise<void> | undefined;
  #timers: ReturnType<typeof setTimeout>[] = [];

  constructor(
    api: TargetsAPI,
    hosts: () => Iterable<WorkerHost>,
    known: (target: string) => boolean,
    now: () => number = Date.now,
  ) {
    this.#api = api;
    this.#hosts = hosts;
    this.#known = known;
    this.#now = now;
  }

  /** A page has asked for the script of a worker, which may be a shared one. */
  asked(host: WorkerHost, script: string): void {
    const url = withoutHash(script);
    this.#asked.delete(url);
    this.#asked.set(url, { host, at: this.#now() });
    if (this.#asked.size > MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value ?? '');
    this.#expect(LOOKS_MS);
  }

  #expect(looks: readonly number[]): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = looks.map((ms) => setTimeout(() => void this.look(), ms));
  }

  /** Another page is shown, or capture of a tab has ended: its workers get another host, or none. */
  review(): void {
    for (const [id, attached] of this.#attached) {
      const host = this.#hostOf(attached.origin, attached.host);
      if (host === attached.host) continue;
      attached.host.ends(attached.session);
      if (host === undefined) {
        this.#attached.delete(id);
        void this.#api.detach({ targetId: id }).catch(() => undefined);
      } else {
        attached.host = host;
        host.begins(attached.session, this.#now());
      }
    }
    for (const [url, { host }] of this.#asked) if (host.origin === undefined) this.#asked.delete(url);
    this.#expect([REVIEW_MS]);
  }

  #hostOf(origin: string, before?: WorkerHost): WorkerHost | undefined {
    const hosts = [...this.#hosts()].filter((host) => host.origin === origin);
    return before !== undefined && hosts.includes(before) ? before : hosts[0];
  }

  /** Attaches to what is there now. */
  async look(): Promise<void> {
    await this.#looking;
    this.#looking = this.#look().catch(() => undefined);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const origins = new Set([...this.#hosts()].flatMap(({ origin }) => origin ?? []));
    if (origins.size === 0 && this.#refused.size === 0) return;
    const targets = (await this.#api.getTargets()).filter((target) => this.#isShared(target));
    for (const { id, url } of targets) {
      const origin = originOf(url);
      if (origin === undefined || !origins.has(origin) || this.#attached.has(id)) continue;
      const asked = this.#asked.get(withoutHash(url));
      const host = this.#hostOf(origin, asked?.host);
      if (host === undefined) continue;
      try {
        // One that ran before has said things that are not this page's news.
        await this.#attach(id, origin, host, asked?.at ?? this.#now());
      } catch {
        this.#refuse(id, origin);
      }
    }
    for (const id of this.#refused.keys()) {
      if (!targets.some((target) => target.id === id)) this.#gone(id);
    }
  }

  async #attach(id: string, origin: string, host: WorkerHost, from: number): Promise<void> {
    try {
      await this.#api.attach({ targetId: id }, '1.3');
    } catch (error) {
      // An earlier life of this worker may have left its own session behind.
      if (!/already attached/.test(String(error))) throw error;
      await this.#api.detach({ targetId: id });
      await this.#api.attach({ targetId: id }, '1.3');
    }
    this.#gone(id);
    const session: Session = { target: 'worker', targetId: id };
    this.#attached.set(id, { session, origin, host });
    host.begins(session, from);
  }

  #refuse(id: string, origin: string): void {
    const refused = this.#refused.get(id) ?? { origin, hosts: new Set() };
    this.#refused.set(id, refused);
    for (const host of this.#hosts()) {
      if (host.origin !== origin || refused.hosts.has(host)) continue;
      refused.hosts.add(host);
      host.blind(id);
    }
  }

  #gone(id: string): void {
    for (const host of this.#refused.get(id)?.hosts ?? []) host.seeing(id);
    this.#refused.delete(id);
  }

  /** The worker has ended, or its session has. */
  detached(target: string): void {
    const attached = this.#attached.get(target);
    this.#attached.delete(target);
    attached?.host.ends(attached.session);
    this.#expect([REVIEW_MS]);
  }

  /** An event of a worker's session. */
  event(target: string, method: string, params: unknown): void {
    this.#attached.get(target)?.host.event(target, method, params);
  }

  /** Service workers are of the same type; Chromium names them by their script, and a tab has its own session of each. */
  #isShared({ id, type, title, url }: TargetInfo): boolean {
    return type === 'worker' && title !== `Service Worker ${withoutHash(url)}` && !this.#known(id);
  }
}

/** The origin of an address; undefined if it has none. */
export function originOf(url: string): string | undefined {
  try {
    const { origin } = new URL(url);
    return origin === 'null' ? undefined : origin;
  } catch {
    return undefined;
  }
}
