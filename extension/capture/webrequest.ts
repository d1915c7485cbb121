/**
 * The second witness: `chrome.webRequest` sees requests of a tab while the debugger is not attached
 * to it yet. The witness that saw a request start owns it. Both exchange what they saw, because their
 * reports of the same request arrive in either order.
 */
import type { AnyEvent } from '../protocol';
import { redactURL } from '../redact/redact';
import type { Answer, Start, Witness } from './network';
import { SendTimes } from './request';
import { resourceOfType } from './resources';
import { withoutHash } from './text';

/** The part of webRequest's details that is used. */
export interface RequestDetails {
  requestId: string;
  tabId: number;
  url: string;
  method: string;
  type: string;
  timeStamp: number;
  initiator?: string | undefined;
  statusCode?: number;
  error?: string;
  fromCache?: boolean;
}

/** A request that webRequest saw. */
export interface Sighting extends Start {
  readonly webRequestId: string;
  started: number;
  status?: number;
  error?: string;
  ended?: number;
  cached?: boolean;
  /** The debugger's id for it, when something named both. */
  debuggerId?: string;
  /** True when it began before this worker did: only its end was seen. */
  early?: boolean;
}

/** How far the two witnesses' clocks may be apart for the same request, in milliseconds. */
const SAME_MS = 2000;
/** How late a request from before the debugger attached may be reported, in milliseconds. */
const LATE_MS = 250;
const MAX_SIGHTINGS = 1000;
/** For how long after the worker's begin requests may end that began before it, in milliseconds. */
const EARLY_MS = 15_000;

interface TabRecord {
  readonly times: SendTimes;
  sightings: Sighting[];
  /** Requests that only the debugger has reported so far. */
  claims: Start[];
  /** When the debugger saw everything from, if it does. */
  attached?: number;
  /** Addresses of requests that were reported from other records. */
  reported: string[];
  /** The document whose load was seen from its first request. */
  load?: string;
  /** Whether frames of a WebSocket may have been missed. */
  missedFrames?: boolean;
}

/** Keeps what webRequest saw of each tab until the debugger sees the tab whole. */
export class WebRequestWitness {
  readonly #wanted: (tab: number, origin: string) => boolean;
  readonly #tabs = new Map<number, TabRecord>();
  /** Requests that were seen to begin, while there may be others; undefined afterwards. */
  #begun: Set<string> | undefined = new Set();
  readonly #earlyUntil: number;
  /** Called with each request of a tab that ended after the debugger had attached. */
  onEnded: ((tab: number) => void) | undefined;
  /** Called with each request of which the network has the whole answer. */
  onArrived: ((tab: number, answer: Answer) => void) | undefined;

  /** `wanted` says whether a page of that address in that tab is watched. */
  constructor(wanted: (tab: number, url: string) => boolean, now = Date.now()) {
    this.#wanted = wanted;
    this.#earlyUntil = now + EARLY_MS;
  }

  began(details: RequestDetails): void {
    const { tabId: tab, type } = details;
    if (tab < 0) return;
    this.#begun?.add(details.requestId);
    const top = type === 'main_frame';
    let record = this.#tabs.get(tab);
    if (record?.attached !== undefined && details.timeStamp > record.attached + LATE_MS) return;
    if (!this.#wanted(tab, top ? details.url : (details.initiator ?? ''))) return;
    if (record === undefined || (top && record.attached === undefined)) {
      record = { times: new SendTimes(), sightings: [], claims: record?.claims ?? [], reported: [] };
      this.#tabs.set(tab, record);
    }
    if (top) record.load = details.url;
    const sighting = sight(details, record.times);
    const claim = record.claims.findIndex((other) => same(sighting, other));
    if (claim >= 0) record.claims.splice(claim, 1);
    else if (record.sightings.length < MAX_SIGHTINGS) record.sightings.push(sighting);
  }

  redirected(details: RequestDetails): void {
    this.ended(details);
  }

  completed(details: RequestDetails): void {
    this.ended(details);
    const { method, url, timeStamp: at } = details;
    this.onArrived?.(details.tabId, { method, url: withoutHash(url), at });
  }

  ended(details: RequestDetails): void {
    const tab = details.tabId;
    const sighting =
      this.#tabs
        .get(tab)
        ?.sightings.find((s) => s.webRequestId === details.requestId && s.ended === undefined) ??
      this.#early(details);
    if (sighting === undefined) return;
    sighting.ended = Math.floor(details.timeStamp);
    if (details.statusCode !== undefined) sighting.status = details.statusCode;
    if (details.error !== undefined) sighting.error = details.error;
    if (details.fromCache === true) sighting.cached = true;
    if (this.#tabs.get(tab)?.attached !== undefined) this.onEnded?.(tab);
  }

  /** A request that ends and was not seen to begin, because the worker itself had not begun. */
  #early(details: RequestDetails): Sighting | undefined {
    const { tabId: tab, type, requestId, timeStamp } = details;
    if (this.#begun === undefined || this.#begun.has(requestId) || tab < 0) return undefined;
    if (timeStamp > this.#earlyUntil) {
      this.#begun = undefined;
      return undefined;
    }
    const top = type === 'main_frame';
    if (!this.#wanted(tab, top ? details.url : (details.initiator ?? ''))) return undefined;
    const record = this.#record(tab);
    const reported = record.reported.indexOf(redactURL(withoutHash(details.url)).text);
    if (reported >= 0) {
      record.reported.splice(reported, 1);
      return undefined;
    }
    const sighting: Sighting = { ...sight(details, record.times), early: true };
    record.sightings.push(sighting);
    return sighting;
  }

  #record(tab: number): TabRecord {
    let record = this.#tabs.get(tab);
    if (record === undefined) {
      record = { times: new SendTimes(), sightings: [], claims: [], reported: [] };
      this.#tabs.set(tab, record);
    }
    return record;
  }

  /** The debugger's side of the agreement for one tab. */
  forTab(tab: number): Witness {
    return {
      claim: (start) => this.#claim(tab, start),
      adopt: (url) => this.#take(tab, (s) => s.url === url && s.resource !== 'websocket'),
    };
  }

  #claim(tab: number, start: Start): void {
    const record = this.#tabs.get(tab);
    if (record === undefined || this.#take(tab, (s) => same(s, start)) !== undefined) return;
    // Once everything that began before is known, nothing more is to be compared.
    if (record.attached !== undefined && start.started > record.attached + LATE_MS) return;
    record.claims.push(start);
    if (record.claims.length > MAX_SIGHTINGS) record.claims.shift();
  }

  #take(tab: number, match: (s: Sighting) => boolean): Sighting | undefined {
    const sightings = this.#tabs.get(tab)?.sightings ?? [];
    const at = sightings.findIndex(match);
    return at < 0 ? undefined : sightings.splice(at, 1)[0];
  }

  /**
   * The address of the oldest WebSocket (to `url`, if that is known) that the debugger did not see
   * begin; `whole` when it sees the handshake's end, so that no frame can have been missed.
   */
  adoptSocket(tab: number, whole: boolean, url?: string): string | undefined {
    const socket = this.#take(tab, (s) => s.resource === 'websocket' && (url === undefined || s.url === url));
    if (!whole) this.#record(tab).missedFrames = true;
    return socket?.url;
  }

  /** The addresses of WebSockets that opened unseen before the debugger attached. */
  openSockets(tab: number, urls: readonly string[]): void {
    const { sightings } = this.#record(tab);
    const known = sightings.filter((s) => s.resource === 'websocket').length;
    for (const url of urls.slice(known)) {
      sightings.push({
        webRequestId: '',
        method: 'GET',
        url,
        resource: 'websocket',
        started: 0,
        order: 0,
        ended: 0,
      });
    }
  }

  /** Says which id the debugger has for a request that it did not see begin; false when it is not known here. */
  name(tab: number, url: string, debuggerId: string): boolean {
    const sighting = this.#tabs.get(tab)?.sightings.find((s) => s.url === url && s.debuggerId === undefined);
    if (sighting !== undefined) sighting.debuggerId = debuggerId;
    return sighting !== undefined;
  }

  /** Whether the load of this document was seen from its first request. */
  sawLoad(tab: number, url: string): boolean {
    return this.#tabs.get(tab)?.load === url.split('#', 1)[0];
  }

  /** Whether a WebSocket was open before the debugger watched it. */
  missedFrames(tab: number): boolean {
    const record = this.#tabs.get(tab);
    if (record === undefined) return false;
    return (
      record.missedFrames === true ||
      record.sightings.some(
        (s) => s.resource === 'websocket' && s.ended !== undefined && s.error === undefined,
      )
    );
  }

  /** From now on the debugger sees the whole tab. Claims of what is reported by the debugger alone end. */
  attached(tab: number, at: number): void {
    this.#record(tab).attached = at;
  }

  /** Takes the requests that have ended and that the debugger did not see begin. */
  takeEnded(tab: number): Sighting[] {
    const record = this.#tabs.get(tab);
    if (record === undefined) return [];
    // An open WebSocket is named when its first frame comes.
    const isOver = (s: Sighting): boolean =>
      s.ended !== undefined && (s.resource !== 'websocket' || s.error !== undefined);
    const ended = record.sightings.filter(isOver);
    record.sightings = record.sightings.filter((s) => !isOver(s));
    return ended;
  }

  /** The addresses of requests seen but not yet claimed, for the search for unseen ones. */
  seen(tab: number): string[] {
    return (this.#tabs.get(tab)?.sightings ?? []).map((s) => s.url);
  }

  /** Tells when a request really began and ended of which only the end was seen. */
  time(tab: number, url: string, started: number, ended: number): void {
    const sighting = this.#tabs
      .get(tab)
      ?.sightings.find((s) => s.early === true && s.url === url && s.started > started);
    if (sighting === undefined) return;
    sighting.started = started;
    sighting.ended = ended;
  }

  /** Says that a request of this (masked) address was reported from other records. */
  reported(tab: number, url: string): void {
    this.#record(tab).reported.push(url);
  }

  /** Forgets a tab: it is closed, or no longer attached. */
  forget(tab: number): void {
    this.#tabs.delete(tab);
  }
}

function sight({ requestId, method, url, type, timeStamp }: RequestDetails, times: SendTimes): Sighting {
  return {
    webRequestId: requestId,
    method,
    url: withoutHash(url),
    resource: resourceOfType(type),
    ...times.next(Math.floor(timeStamp)),
  };
}

function same(a: Start, b: Start): boolean {
  return a.url === b.url && a.method === b.method && Math.abs(a.started - b.started) < SAME_MS;
}

/** The event of a request or a failed connection that only webRequest saw. */
export function sightedEvent(tab: number, sighting: Sighting): AnyEvent {
  const url = redactURL(sighting.url);
  const ended = sighting.ended ?? sighting.started;
  if (sighting.resource === 'websocket') {
    const text = 'the connection could not be established';
    const id = `web-${sighting.webRequestId}`;
    return { kind: 'websocket', at: ended, tab, id, url: url.text, op: 'error', text };
  }
  const aborted = sighting.error === 'net::ERR_ABORTED';
  return {
    kind: 'network',
    at: ended,
    tab,
    ...(url.masked > 0 && { masked: url.masked }),
    id: sighting.debuggerId ?? `web-${sighting.webRequestId}`,
    method: sighting.method,
    url: url.text,
    resource: sighting.resource,
    status: sighting.status ?? 0,
    ...(sighting.error !== undefined && !aborted && { error: sighting.error }),
    ...(aborted && { canceled: true }),
    started: sighting.started,
    ...(sighting.order > 0 && { order: sighting.order }),
    duration: ended - sighting.started,
    ...(sighting.cached === true && { cached: true }),
    body_note: 'capture started after the request',
    backfilled: true,
  };
}
