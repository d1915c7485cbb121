/** Follows the requests of one tab from start to end, over all its debugger sessions. */
import type { Protocol } from 'devtools-protocol';
import { NOT_TEXT } from '../page/records';
import type { Session, TabContext } from './context';
import {
  decoded,
  type Ending,
  type Flight,
  MAX_BODY_READ,
  networkEvent,
  requestEvent,
  SendTimes,
  type Sent,
  unreadNote,
  wantsBody,
} from './request';

type Network = {
  willBeSent: Protocol.Network.RequestWillBeSentEvent;
  response: Protocol.Network.ResponseReceivedEvent;
  data: Protocol.Network.DataReceivedEvent;
  cached: Protocol.Network.RequestServedFromCacheEvent;
  finished: Protocol.Network.LoadingFinishedEvent;
  failed: Protocol.Network.LoadingFailedEvent;
};

/**
 * How long an answer that says "failed", or of which the network has all, may wait for a body that the page does not read, in ms.
 * Chromium has all of a small one some 50 ms after the answer, on a busy machine later, even if nobody reads it, unless it must not
 * be stored. A document is always read.
 */
const UNREAD_BODY_MS = 300;
const DOCUMENT_BODY_MS = 2000;

/** How many answers are kept for requests that may still be told of. */
const MAX_EARLY = 50;

/** An answer that the network has all of. */
export interface Answer {
  method: string;
  url: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Whether it may be the answer to a request: none arrives before its request began. */
function answers({ method, url, at }: Answer, flight: Flight): boolean {
  return flight.url === url && flight.method === method && at >= flight.started;
}

/** What another witness knew of a request whose start the debugger did not see. */
export interface Start extends Sent {
  method: string;
  url: string;
  resource: string;
}

/** The other witness (see webrequest.ts): both sides make sure that no request is reported twice. */
export interface Witness {
  /** The debugger saw this request begin: it is the debugger's to report. */
  claim(start: Start): void;
  /** The debugger sees an answer to a request that it did not see begin, and takes it over. */
  adopt(url: string): Start | undefined;
}

/**
 * Reports each request when it begins and when it ends. A request is known by its id whatever the
 * session: that of a worker's script begins in the page's session and ends in the worker's.
 */
export class NetworkTracker {
  readonly #tab: TabContext;
  readonly #witness: Witness;
  readonly #foreign: (event: Network['willBeSent']) => boolean;
  readonly #flights = new Map<string, Flight>();
  /** Answers that no request was known for when they had arrived. */
  #early: Answer[] = [];
  readonly #bodies = new Set<Promise<void>>();
  readonly #times = new SendTimes();

  /** `foreign` says whether a request only leads the tab away to a page that is not watched. */
  constructor(
    tab: TabContext,
    witness: Witness,
    foreign: (event: Network['willBeSent']) => boolean = () => false,
  ) {
    this.#tab = tab;
    this.#witness = witness;
    this.#foreign = foreign;
  }

  willBeSent(session: Session, event: Network['willBeSent']): void {
    const { request, requestId: id, timestamp } = event;
    this.#tab.clock.learn(timestamp, event.wallTime);
    const at = this.#tab.clock.at(timestamp);
    const before = this.#flights.get(id);
    if (before !== undefined && event.redirectResponse !== undefined) {
      before.response = event.redirectResponse;
      this.#take(id);
      this.#end(before, { at, size: event.redirectResponse.encodedDataLength });
    } else if (before !== undefined) {
      return; // the same start, reported by a second session
    }
    const resource = (event.type ?? 'Other').toLowerCase();
    // A preflight is part of its request; data: never leaves the page.
    if (event.initiator.type === 'preflight' || request.url.startsWith('data:') || this.#foreign(event))
      return;
    const sent = this.#times.next(at);
    this.#begin({
      id,
      session,
      method: request.method,
      url: request.url,
      resource,
      ...sent,
      loader: event.loaderId || undefined,
      requestHeaders: request.headers,
      requestBody: request.postData,
      initiator: event.initiator,
      received: 0,
      cached: false,
      reported: false,
    });
    this.#witness.claim({ method: request.method, url: request.url, resource, ...sent });
  }

  #begin(flight: Flight): void {
    this.#flights.set(flight.id, flight);
    const early = this.#early.findIndex((answer) => answers(answer, flight));
    if (early >= 0) {
      this.#early.splice(early, 1);
      flight.arrived = true;
    }
    this.#tab.emit(requestEvent(this.#tab.tab, flight));
  }

  servedFromCache({ requestId }: Network['cached']): void {
    const flight = this.#flights.get(requestId);
    if (flight !== undefined) flight.cached = true;
  }

  response(session: Session, event: Network['response']): void {
    const { requestId: id, response, timestamp } = event;
    const flight = this.#flights.get(id) ?? this.#adopt(session, event);
    if (flight === undefined || flight.response !== undefined) return;
    flight.response = response;
    if (flight.resource === 'other') flight.resource = event.type.toLowerCase();
    if (response.fromDiskCache || response.fromPrefetchCache) flight.cached = true;
    const at = this.#tab.clock.at(timestamp);
    if (response.mimeType === 'text/event-stream' && response.status < 400) {
      this.#report(flight, { at, stream: true });
    } else if (response.status >= 400 || flight.arrived === true) {
      this.#awaitBody(flight, at);
    }
  }

  /**
   * The network has all of the answer to a request. Chromium reports no end of one that must not be stored until the page reads it,
   * and the page may never do that. On a busy machine the debugger tells of the request itself later than this.
   */
  arrived(answer: Answer): void {
    for (const flight of this.#flights.values()) {
      if (!answers(answer, flight) || flight.arrived === true || flight.reported) continue;
      flight.arrived = true;
      if (flight.response !== undefined && flight.unread === undefined)
        this.#awaitBody(flight, this.#tab.clock.now());
      return;
    }
    this.#early.push(answer);
    if (this.#early.length > MAX_EARLY) this.#early.shift();
  }

  /** Reports an answer of that time without its body if the page does not read that soon. */
  #awaitBody(flight: Flight, at: number): void {
    const report = () => this.#report(flight, { at, bodyNote: 'the page did not read the body' });
    const patience = flight.resource === 'document' ? DOCUMENT_BODY_MS : UNREAD_BODY_MS;
    flight.unread = { timer: setTimeout(report, patience) };
  }

  /** Takes over a request whose start was not seen; what it sent is not known then. */
  #adopt(
    session: Session,
    { requestId: id, response, type, loaderId }: Network['response'],
  ): Flight | undefined {
    if (type === 'Preflight' || response.url.startsWith('data:')) return undefined;
    const start = this.#witness.adopt(response.url);
    if (start === undefined) return undefined;
    const flight: Flight = {
      ...start,
      id,
      session,
      // The renderer names the type of what it saw begin; of anything else it says Other.
      resource: type === 'Other' ? start.resource : type.toLowerCase(),
      loader: loaderId || undefined,
      received: 0,
      cached: false,
      reported: false,
      late: true,
    };
    this.#begin(flight);
    return flight;
  }

  data({ requestId, dataLength }: Network['data']): void {
    const flight = this.#flights.get(requestId);
    if (flight !== undefined) flight.received += dataLength;
  }

  finished(session: Session, { requestId, timestamp, encodedDataLength }: Network['finished']): void {
    const flight = this.#take(requestId);
    if (flight === undefined || flight.reported) return;
    const end: Ending = {
      at: this.#tab.clock.at(timestamp),
      size: flight.cached ? 0 : encodedDataLength,
      complete: true,
    };
    if (!wantsBody(flight)) {
      const bodyNote = unreadNote(flight);
      this.#end(flight, bodyNote === undefined ? end : { ...end, bodyNote });
    } else if (flight.received > MAX_BODY_READ) {
      this.#end(flight, { ...end, bodyNote: `not kept: ${flight.received} bytes` });
    } else {
      this.#endWithBody(session, flight, end);
    }
  }

  /**
   * The page has read its document. For a document that was loading when capture started, Chromium reports the
   * response but not the end. `url` limits this to a document with that address.
   */
  documentRead(session: Session, url?: string): void {
    const timestamp = this.#tab.clock.now();
    for (const flight of this.#lateDocuments(session)) {
      if (url !== undefined && flight.url !== url) continue;
      this.#take(flight.id);
      this.#endWithBody(session, flight, {
        at: timestamp,
        size: flight.response?.encodedDataLength ?? 0,
        complete: true,
      });
    }
  }

  /** Whether a document that was under way when capture began has been answered, and not ended. */
  hasLateDocument(session: Session): boolean {
    return this.#lateDocuments(session).length > 0;
  }

  #lateDocuments(session: Session): Flight[] {
    return [...this.#flights.values()].filter(
      (f) => f.late && f.resource === 'document' && f.session === session && f.response && !f.reported,
    );
  }

  #endWithBody(session: Session, flight: Flight, end: Ending): void {
    const read = this.#tab.send(session, 'Network.getResponseBody', { requestId: flight.id }).then(
      ({ body, base64Encoded }) => {
        const text = base64Encoded ? decoded(body) : body;
        this.#end(flight, { ...end, ...(text === undefined ? { bodyNote: NOT_TEXT } : { body: text }) });
      },
      () => this.#end(flight, { ...end, bodyNote: 'the browser no longer had the body' }),
    );
    this.#bodies.add(read);
    void read.finally(() => this.#bodies.delete(read));
  }

  failed({
    requestId,
    timestamp,
    errorText,
    canceled,
    blockedReason,
    corsErrorStatus,
  }: Network['failed']): void {
    const flight = this.#take(requestId);
    if (flight === undefined) return;
    const aborted = canceled === true || errorText === 'net::ERR_ABORTED';
    if (flight.reported && aborted) return;
    const end: Ending = { at: this.#tab.clock.at(timestamp) };
    if (corsErrorStatus !== undefined) {
      end.error = `CORS: ${flight.corsReason ?? corsErrorStatus.corsError}`;
    } else if (blockedReason !== undefined) {
      end.error = `blocked: ${blockedReason}`;
    } else if (!aborted) {
      end.error = errorText || 'failed';
    } else if (flight.response === undefined || flight.response.status < 400) {
      end.canceled = true; // a failing status wins over what came after it
    }
    this.#end(flight, end);
  }

  /**
   * Finds the request of a log entry about CORS, which comes before the failure itself,
   * and keeps the reason for it. Returns its id.
   */
  corsEntry(text: string): string | undefined {
    const match =
      /^Access to .*? at '(.+?)' (?:\(redirected from '(.+?)'\) )?from origin .*? has been blocked by CORS policy: ([\s\S]+)$/.exec(
        text,
      );
    if (match === null) return undefined;
    const [, url, from, reason] = match;
    for (const flight of this.#flights.values()) {
      if (
        flight.corsReason === undefined &&
        !flight.reported &&
        (flight.url === url || flight.url === from)
      ) {
        flight.corsReason = reason;
        return flight.id;
      }
    }
    return undefined;
  }

  /** Says whether a request is under way. */
  has(id: string): boolean {
    return this.#flights.has(id);
  }

  /** Ends requests whose end will not be reported: the page was left, crashed, or is no longer watched. */
  abandon(gone: (flight: Flight) => boolean, note?: string): void {
    const at = this.#tab.clock.now();
    for (const flight of [...this.#flights.values()]) {
      if (!gone(flight)) continue;
      this.#take(flight.id);
      if (flight.reported) continue;
      const failed = flight.response !== undefined && flight.response.status >= 400;
      this.#end(flight, {
        at,
        ...(!failed && { canceled: true }),
        ...(note !== undefined && { bodyNote: note }),
      });
    }
  }

  /** Resolves when the bodies that are being read now have been reported. */
  async bodiesRead(): Promise<void> {
    await Promise.all(this.#bodies);
  }

  /** Resolves when no body that the page may not read is waited for any more. */
  async unreadOver(): Promise<void> {
    const unread = [...this.#flights.values()].flatMap(({ unread = [] }) => unread);
    await Promise.all(
      unread.map((one) => {
        const before = one.over;
        return new Promise<void>((resolve) => {
          one.over = () => {
            before?.();
            resolve();
          };
        });
      }),
    );
  }

  /** Reports a request before its end. */
  #report(flight: Flight, end: Ending): void {
    this.#waited(flight);
    flight.reported = true;
    this.#end(flight, end);
  }

  #take(id: string): Flight | undefined {
    const flight = this.#flights.get(id);
    if (flight !== undefined) {
      this.#waited(flight);
      this.#flights.delete(id);
    }
    return flight;
  }

  /** Ends the wait for a body. */
  #waited(flight: Flight): void {
    clearTimeout(flight.unread?.timer);
    flight.unread?.over?.();
    flight.unread = undefined;
  }

  #end(flight: Flight, end: Ending): void {
    this.#tab.emit(networkEvent(this.#tab.tab, flight, end));
  }
}
