/** Reads from a page what happened before capture started, without duplicates. */
import { NAMED } from '../page/records';
import type { AnyEvent } from '../protocol';
import { redactURL } from '../redact/redact';
import { backfill, readTimings, TIMINGS, type TimingEntry } from './backfill';
import type { Send } from './context';
import type { DebuggerTab } from './debugger-tab';
import type { Emit } from './source';
import type { WebRequestWitness } from './webrequest';

/** How long pages may take to answer, in ms. */
const ANSWER_MS = 2000;
/** Timing lists only finished requests. Running ones are looked up again after this many ms. */
const AGAIN_MS = 1500;

/** Counts the reported requests of a tab by address, until it is closed. */
export class Ledger {
  readonly #counts = new Map<string, number>();
  #closed = false;

  note(event: AnyEvent): void {
    if (this.#closed) return;
    if (event.kind === 'request' || (event.kind === 'network' && event.backfilled === true)) {
      this.#counts.set(event.url, (this.#counts.get(event.url) ?? 0) + 1);
    }
  }

  /** Nobody asks any more. */
  close(): void {
    this.#closed = true;
    this.#counts.clear();
  }

  /** The addresses of all reports, each as often as it was reported. */
  urls(): string[] {
    return [...this.#counts].flatMap(([url, n]) => new Array<string>(n).fill(url));
  }
}

/** What catching up with a tab needs. */
export interface CatchUp {
  readonly tabId: number;
  readonly tab: DebuggerTab;
  readonly send: Send;
  readonly witness: WebRequestWitness;
  readonly ledger: Ledger;
  readonly emit: Emit;
  /** Requests that began between these (milliseconds since the epoch) may have been missed. */
  readonly since: number;
  readonly until: number;
}

/** Reports the requests that only the pages' timing and the browser's log know, and finds names for open sockets. */
export async function readRecords(catchUp: CatchUp): Promise<void> {
  await Promise.all([readOnce(catchUp), nameSockets(catchUp)]);
  setTimeout(() => void readOnce(catchUp), AGAIN_MS);
}

async function readOnce({ tabId, tab, send, witness, ledger, emit, since, until }: CatchUp): Promise<void> {
  const entries = (await timings(tab, send)).filter(({ start }) => start >= since && start < until);
  for (const { name, start, duration } of entries) {
    witness.time(tabId, name, Math.floor(start), Math.floor(start + duration));
  }
  const failures = tab.failures.splice(0).filter(({ url, id }) => !witness.name(tabId, url, id));
  const known = [...ledger.urls(), ...witness.seen(tabId).map((url) => redactURL(url).text)];
  for (const event of backfill(tabId, entries, failures, known)) {
    witness.reported(tabId, event.url);
    emit(event);
  }
}

/**
 * Frames of a WebSocket that was open before name no address. The page's own objects do; which frame
 * is whose is known only where they all have the same address.
 */
async function nameSockets({ tabId, tab, send, witness }: CatchUp): Promise<void> {
  const objectGroup = 'tidemark';
  try {
    const { result: prototype } = await send(tab.top, 'Runtime.evaluate', {
      expression: `WebSocket.prototype${NAMED}`,
      silent: true,
      objectGroup,
    });
    if (prototype.objectId === undefined) return;
    const { objects } = await send(tab.top, 'Runtime.queryObjects', {
      prototypeObjectId: prototype.objectId,
      objectGroup,
    });
    if (objects.objectId === undefined) return;
    const { result } = await send(tab.top, 'Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: 'function () { return this.filter((s) => s.readyState === 1).map((s) => s.url); }',
      returnByValue: true,
      silent: true,
    });
    const urls = (result.value as unknown[]).filter((url) => typeof url === 'string');
    if (new Set(urls).size === 1) witness.openSockets(tabId, urls);
  } catch {
    // The page went away, or has put something else in WebSocket's place: the names stay unknown.
  } finally {
    await send(tab.top, 'Runtime.releaseObjectGroup', { objectGroup }).catch(() => undefined);
  }
}

async function timings(tab: DebuggerTab, send: Send): Promise<TimingEntry[]> {
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
  const answers = (await within(Promise.all(asked), ANSWER_MS)) ?? [];
  return answers.flatMap(({ origin, entries }) =>
    entries.map((entry) => ({ ...entry, start: origin + entry.start })),
  );
}

/** What a promise gives, or undefined when it takes longer. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
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
