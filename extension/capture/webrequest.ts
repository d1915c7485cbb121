/**
 * The second witness: `chrome.webRequest` sees requests of a tab while the debugger is not attached
 * to it yet. Whoever saw a request begin owns it; both tell each other what they saw, because their
 * reports of the same request arrive in either order.
 */
import type { AnyEvent } from '../protocol';
import type { Start, Witness } from './network';
import { redactURL } from './redact';

type NetworkEvent = Extract<AnyEvent, { kind: 'network' }>;

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
  status?: number;
  error?: string;
  ended?: number;
  cached?: boolean;
  /** The debugger's id for it, when something named both. */
  debuggerId?: string;
}

/** How far the two witnesses' clocks may be apart for the same request, in milliseconds. */
const SAME_MS = 2000;
const MAX_SIGHTINGS = 1000;

const resources: Record<string, string> = {
  main_frame: 'document',
  sub_frame: 'document',
  xmlhttprequest: 'xhr',
  object: 'other',
  csp_report: 'cspviolationreport',
};

interface TabRecord {
  sightings: Sighting[];
  /** Requests that only the debugger has told of so far. */
  claims: Start[];
  /** When the debugger saw everything from, if it does. */
  attached?: number;
}

/** Keeps what webRequest saw of each tab until the debugger sees the tab whole. */
export class WebRequestWitness {
  readonly #wanted: (tab: number, origin: string) => boolean;
  readonly #tabs = new Map<number, TabRecord>();
  /** Called with each request of a tab that ended after the debugger had attached. */
  onEnded: ((tab: number) => void) | undefined;

  /** `wanted` says whether a page of that address in that tab is watched. */
  constructor(wanted: (tab: number, url: string) => boolean) {
    this.#wanted = wanted;
  }

  began(details: RequestDetails): void {
    const { tabId: tab, type } = details;
    if (tab < 0) return;
    const top = type === 'main_frame';
    let record = this.#tabs.get(tab);
    if (record?.attached !== undefined && details.timeStamp > record.attached) return;
    if (!this.#wanted(tab, top ? details.url : (details.initiator ?? ''))) return;
    if (record === undefined || (top && record.attached === undefined)) {
      record = { sightings: [], claims: record?.claims ?? [] };
      this.#tabs.set(tab, record);
    }
    const sighting: Sighting = {
      webRequestId: details.requestId,
      method: details.method,
      url: details.url,
      resource: resources[type] ?? type,
      started: Math.floor(details.timeStamp),
    };
    const claim = record.claims.findIndex((other) => same(sighting, other));
    if (claim >= 0) record.claims.splice(claim, 1);
    else if (record.sightings.length < MAX_SIGHTINGS) record.sightings.push(sighting);
  }

  redirected(details: RequestDetails): void {
    this.ended(details);
  }

  ended(details: RequestDetails): void {
    const sighting = this.#tabs
      .get(details.tabId)
      ?.sightings.find((s) => s.webRequestId === details.requestId && s.ended === undefined);
    if (sighting === undefined) return;
    sighting.ended = Math.floor(details.timeStamp);
    if (details.statusCode !== undefined) sighting.status = details.statusCode;
    if (details.error !== undefined) sighting.error = details.error;
    if (details.fromCache === true) sighting.cached = true;
    if (this.#tabs.get(details.tabId)?.attached !== undefined) this.onEnded?.(details.tabId);
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
    if (record.attached !== undefined && start.started > record.attached) return;
    record.claims.push(start);
    if (record.claims.length > MAX_SIGHTINGS) record.claims.shift();
  }

  #take(tab: number, match: (s: Sighting) => boolean): Sighting | undefined {
    const sightings = this.#tabs.get(tab)?.sightings ?? [];
    const at = sightings.findIndex(match);
    return at < 0 ? undefined : sightings.splice(at, 1)[0];
  }

  /** The address of the oldest WebSocket that the debugger did not see begin. */
  adoptSocket(tab: number): string | undefined {
    return this.#take(tab, (s) => s.resource === 'websocket')?.url;
  }

  /** Says which id the debugger has for a request that it did not see begin; false when it is not known here. */
  name(tab: number, url: string, debuggerId: string): boolean {
    const sighting = this.#tabs.get(tab)?.sightings.find((s) => s.url === url && s.debuggerId === undefined);
    if (sighting !== undefined) sighting.debuggerId = debuggerId;
    return sighting !== undefined;
  }

  /** Whether the load of this document was seen from its first request. */
  sawLoad(tab: number, url: string): boolean {
    const address = url.split('#', 1)[0];
    return (
      this.#tabs.get(tab)?.sightings.some((s) => s.resource === 'document' && s.url === address) === true
    );
  }

  /** Whether a WebSocket began that the debugger did not see from its start. */
  sawSocket(tab: number): boolean {
    return this.#tabs.get(tab)?.sightings.some((s) => s.resource === 'websocket') === true;
  }

  /** From now on the debugger sees the whole tab. Claims of what is reported by the debugger alone end. */
  attached(tab: number, at: number): void {
    const record = this.#tabs.get(tab) ?? { sightings: [], claims: [] };
    record.attached = at;
    this.#tabs.set(tab, record);
  }

  /** Takes the requests that have ended and that the debugger did not see begin. */
  takeEnded(tab: number): Sighting[] {
    const record = this.#tabs.get(tab);
    if (record === undefined) return [];
    const ended = record.sightings.filter((s) => s.ended !== undefined && s.resource !== 'websocket');
    record.sightings = record.sightings.filter((s) => s.ended === undefined);
    record.claims = [];
    return ended;
  }

  /** The addresses of what was seen and not yet taken, for those who look for what nobody saw. */
  seen(tab: number): string[] {
    return (this.#tabs.get(tab)?.sightings ?? []).map((s) => s.url);
  }

  /** Forgets a tab: it is closed, or no longer attached. */
  forget(tab: number): void {
    this.#tabs.delete(tab);
  }
}

function same(a: Start, b: Start): boolean {
  return a.url === b.url && a.method === b.method && Math.abs(a.started - b.started) < SAME_MS;
}

/** The event of a request that only webRequest saw. */
export function sightedEvent(tab: number, sighting: Sighting): NetworkEvent {
  const url = redactURL(sighting.url);
  const ended = sighting.ended ?? sighting.started;
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
    duration: ended - sighting.started,
    ...(sighting.cached === true && { cached: true }),
    body_note: 'capture began after the request',
    backfilled: true,
  };
}
