/**
 * Reconstructs the requests of a document that was loading before anything watched it, from the
 * page's own resource timing and from the failures in the browser's log.
 */
import type { Protocol } from 'devtools-protocol';
import { NAMED } from '../page/records';
import type { AnyEvent } from '../protocol';
import { redactURL } from '../redact/redact';
import { SendTimes, type Sent } from './request';
import { resourceOfInitiator } from './resources';
import { withoutHash } from './text';

type NetworkEvent = Extract<AnyEvent, { kind: 'network' }>;

/** What a page's timing knows of one request. */
export interface TimingEntry {
  name: string;
  initiator: string;
  /** Milliseconds since the time origin; to {@link backfill}, since the epoch. */
  start: number;
  duration: number;
  status: number;
  transferred: number;
  decoded: number;
}

/** What is asked of a document right after it was attached to. */
export interface Probe {
  url: string;
  /** `performance.timeOrigin`: milliseconds since the epoch. */
  origin: number;
  /** Whether nothing of the document ran or was asked for yet. */
  fresh: boolean;
  /** How the document was navigated to: navigate, reload, back_forward, prerender. */
  type: string;
}

/** Evaluated in the page; it must not change anything there. */
export const PROBE = `({
  url: location.href,
  origin: performance.timeOrigin,
  fresh: document.readyState === 'loading' && document.scripts.length === 0
    && performance.getEntriesByType('resource').length === 0,
  type: performance.getEntriesByType('navigation')[0]?.type ?? 'navigate',
})${NAMED}`;

/** Evaluated in each document that was there before capture. */
export const TIMINGS = `({
  origin: performance.timeOrigin,
  entries: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .slice(0, 500)
    .map((e) => ({
      name: e.name,
      initiator: e.entryType === 'navigation' ? 'navigation' : e.initiatorType,
      start: e.startTime,
      duration: e.duration,
      status: e.responseStatus ?? 0,
      transferred: e.transferSize ?? 0,
      decoded: e.decodedBodySize ?? 0,
    })),
})${NAMED}`;

/** Reads what {@link PROBE} gave; the page may have tampered with it. */
export function readProbe(value: unknown): Probe | undefined {
  const { url, origin, fresh, type } = (value ?? {}) as Record<string, unknown>;
  if (typeof url !== 'string' || typeof origin !== 'number') return undefined;
  return { url, origin, fresh: fresh === true, type: typeof type === 'string' ? type : 'navigate' };
}

/** Reads what {@link TIMINGS} gave. */
export function readTimings(value: unknown): { origin: number; entries: TimingEntry[] } {
  const { origin, entries } = (value ?? {}) as { origin?: unknown; entries?: unknown };
  if (typeof origin !== 'number' || !Array.isArray(entries)) return { origin: 0, entries: [] };
  // The debugger and the browser's log have no fragments.
  return {
    origin,
    entries: entries.filter(isTimingEntry).map((entry) => ({ ...entry, name: withoutHash(entry.name) })),
  };
}

function isTimingEntry(entry: unknown): entry is TimingEntry {
  const e = (entry ?? {}) as Partial<Record<keyof TimingEntry, unknown>>;
  return (
    typeof e.name === 'string' &&
    typeof e.initiator === 'string' &&
    [e.start, e.duration, e.status, e.transferred, e.decoded].every((n) => typeof n === 'number')
  );
}

/** A failure that the browser's log replayed: the one sure word about it. */
export interface LoggedFailure {
  id: string;
  url: string;
  status: number;
  error?: string | undefined;
  at: number;
}

/** Reads a log entry about a failed request; undefined for any other. */
export function loggedFailure(entry: Protocol.Log.LogEntry): LoggedFailure | undefined {
  const { networkRequestId: id, url, text, timestamp } = entry;
  if (id === undefined || url === undefined) return undefined;
  const status = /the server responded with a status of (\d{3})/.exec(text)?.[1];
  const error = /(net::ERR_\w+)/.exec(text)?.[1];
  if (status === undefined && error === undefined) return undefined;
  return { id, url, status: Number(status ?? 0), error, at: Math.floor(timestamp) };
}

/**
 * The requests that were not captured: those of the timings and of the log, without the ones in `known` (masked
 * addresses, one per request) and without those with an unknown outcome. Oldest first. The method is unknown and
 * reported as GET.
 */
export function backfill(
  tab: number,
  entries: readonly TimingEntry[],
  failures: readonly LoggedFailure[],
  known: readonly string[],
): NetworkEvent[] {
  const claimed = new Map<string, number>();
  for (const url of known) claimed.set(url, (claimed.get(url) ?? 0) + 1);
  const isKnown = (address: string): boolean => {
    const url = redactURL(address).text;
    const left = claimed.get(url) ?? 0;
    if (left > 0) claimed.set(url, left - 1);
    return left > 0;
  };
  const logged = [...failures];
  const events: NetworkEvent[] = [];
  const times = new SendTimes();
  // The browser lists them as they ended.
  for (const [n, entry] of [...entries].sort((a, b) => a.start - b.start).entries()) {
    if (!/^https?:/.test(entry.name) || isKnown(entry.name)) continue;
    const at = logged.findIndex((f) => f.url === entry.name);
    const failure = at < 0 ? undefined : logged.splice(at, 1)[0];
    const sent = times.next(Math.floor(entry.start));
    // Timing hides the status of cross-origin requests and omits aborted ones.
    const status = failure?.status ?? entry.status;
    if (status === 0 && failure === undefined) continue;
    events.push(
      event(tab, {
        id: failure?.id ?? `timing-${sent.started}-${n}`,
        url: entry.name,
        resource: resourceOfInitiator(entry.initiator),
        status,
        error: failure?.error,
        ...sent,
        duration: Math.round(entry.duration),
        size: entry.transferred,
        cached: entry.transferred === 0 && entry.decoded > 0,
      }),
    );
  }
  for (const failure of logged) {
    if (isKnown(failure.url)) continue;
    const { at: started, ...rest } = failure;
    events.push(
      event(tab, { ...rest, resource: 'other', started, order: 0, duration: 0, size: 0, cached: false }),
    );
  }
  return events.sort((a, b) => a.at - b.at);
}

interface Found extends Sent {
  id: string;
  url: string;
  resource: string;
  status: number;
  error?: string | undefined;
  duration: number;
  size: number;
  cached: boolean;
}

function event(tab: number, found: Found): NetworkEvent {
  const url = redactURL(found.url);
  return {
    kind: 'network',
    at: found.started + found.duration,
    tab,
    ...(url.masked > 0 && { masked: url.masked }),
    id: found.id,
    method: 'GET',
    url: url.text,
    resource: found.resource,
    status: found.status,
    ...(found.error !== undefined && { error: found.error }),
    started: found.started,
    ...(found.order > 0 && { order: found.order }),
    duration: found.duration,
    ...(found.size > 0 && { size: found.size }),
    ...(found.cached && { cached: true }),
    body_note: 'recovered from the browser’s records; the method is a guess',
    backfilled: true,
  };
}
