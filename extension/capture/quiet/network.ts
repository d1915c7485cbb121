/** Requests of quiet capture, from `webRequest`, with the bodies that the page's hooks read. */
import { type AnswerRecord, CUT, GIVEN_UP, type ResourceRecord, SAME_MS_STEP } from '../../page/records';
import { MaxBody } from '../../protocol';
import type { Session } from '../context';
import { importedBy } from '../page-records';
import { type Ending, type Flight, networkEvent, requestEvent, SendTimes } from '../request';
import { resourceOfType } from '../resources';
import type { Emit } from '../source';
import { withoutHash } from '../text';
import type { RequestDetails } from '../webrequest';

type Header = { name: string; value?: string | undefined };

/** The part of webRequest's details that is used here. */
export interface QuietDetails extends RequestDetails {
  frameId?: number;
  requestHeaders?: readonly Header[] | undefined;
  responseHeaders?: readonly Header[] | undefined;
  requestBody?: RequestBody | null | undefined;
}

interface RequestBody {
  error?: string | undefined;
  formData?: Readonly<Record<string, readonly unknown[]>> | undefined;
  raw?: readonly { bytes?: ArrayBuffer | undefined; file?: string | undefined }[] | undefined;
}

/** How long a request of the page's own code waits at its end for the body and the stack from the hooks, in ms. */
const HOOKS_MS = 400;
/** The same for a request that was given up, of which only the stack is to come, if the page is still there. */
const GIVEN_UP_MS = 100;
/** The most that is kept of what a page sends, in bytes. */
const MAX_SENT = 128 << 10;
/** How far apart the browser and an element may report that its resource did not load, in ms. */
const ELEMENT_MS = 100;
/** How long the browser may take to report a request whose response the page has, in ms. */
const ALONE_MS = 250;
/** The most responses kept whose end the browser has not reported yet. */
const MAX_EARLY = 50;
/** The most addresses of which it is known how they were answered. */
const MAX_KNOWN = 1000;

const elements: Record<string, string> = {
  script: 'script',
  link: 'stylesheet',
  img: 'image',
  image: 'image',
  video: 'media',
  audio: 'media',
  source: 'media',
  worker: 'script',
};

interface Quiet {
  readonly requestId: string;
  /** The address that the page asked for, before redirects. */
  readonly asks: string;
  flight: Flight;
  status: number;
  mime: string;
  headers: Record<string, string>;
  /** Whether the page's own code, and so the hooks, may see it. */
  asked: boolean;
  end?: Ending | undefined;
  answer?: AnswerRecord | undefined;
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/** The requests of one tab. */
export class QuietRequests {
  readonly #tab: number;
  readonly #emit: Emit;
  readonly #flights = new Map<string, Quiet>();
  /** The addresses that the page asked for of requests that are being redirected. */
  readonly #redirects = new Map<string, string>();
  /** Responses that the hooks reported before the browser reported the end of their requests. */
  #early: { answer: AnswerRecord; timer: ReturnType<typeof setTimeout> }[] = [];
  #over: Quiet[] = [];
  readonly #times = new SendTimes();
  #lastAlone = 0;
  /** The MIME types of answers, by address. */
  readonly #answers = new Map<string, string>();
  #failed: Failure[] = [];
  /** How many resources of elements wait for the other witness: the browser, or the element that cannot use one. */
  #unloaded = 0;

  constructor(tab: number, emit: Emit) {
    this.#tab = tab;
    this.#emit = emit;
  }

  began(details: QuietDetails): void {
    if (details.type === 'websocket') return;
    const session: Session = details.frameId !== undefined && details.frameId > 0 ? inFrame : inPage;
    const resource = resourceOfType(details.type);
    const flight: Flight = {
      id: `quiet-${details.requestId}`,
      session,
      method: details.method,
      url: withoutHash(details.url),
      resource,
      ...this.#times.next(Math.floor(details.timeStamp)),
      requestBody: sent(details.requestBody),
      received: 0,
      cached: false,
      reported: false,
    };
    const asks = this.#redirects.get(details.requestId) ?? flight.url;
    this.#redirects.delete(details.requestId);
    this.#flights.set(details.requestId, {
      requestId: details.requestId,
      asks,
      flight,
      status: 0,
      mime: '',
      headers: {},
      asked: details.type === 'xmlhttprequest',
    });
    this.#emit(requestEvent(this.#tab, flight));
  }

  sends({ requestId, requestHeaders }: QuietDetails): void {
    const quiet = this.#flights.get(requestId);
    if (quiet === undefined || requestHeaders === undefined) return;
    quiet.flight = { ...quiet.flight, requestHeaders: record(requestHeaders) };
  }

  /** The headers of a response have arrived. An open-ended response is reported at once. */
  responded(details: QuietDetails): void {
    const quiet = this.#flights.get(details.requestId);
    if (quiet === undefined) return;
    this.#head(quiet, details);
    if (!quiet.mime.startsWith('text/event-stream')) return;
    quiet.flight.resource = 'eventsource';
    this.#report(quiet, { at: Math.floor(details.timeStamp), stream: true });
    quiet.flight.reported = true;
  }

  redirected(details: QuietDetails): void {
    const quiet = this.#flights.get(details.requestId);
    if (quiet === undefined) return;
    this.#head(quiet, details);
    this.#flights.delete(details.requestId);
    this.#redirects.set(details.requestId, quiet.asks);
    if (this.#redirects.size > MAX_KNOWN) this.#redirects.delete(this.#redirects.keys().next().value ?? '');
    this.#report(quiet, { at: Math.floor(details.timeStamp), complete: true });
  }

  ended(details: QuietDetails): void {
    const quiet = this.#flights.get(details.requestId) ?? this.#unseen(details);
    if (quiet === undefined) return;
    this.#head(quiet, details);
    const { flight } = quiet;
    this.#answers.set(flight.url, quiet.mime);
    if (this.#answers.size > MAX_KNOWN) this.#answers.delete(this.#answers.keys().next().value ?? '');
    const aborted = givenUp(details, quiet.status);
    const end: Ending = { at: Math.floor(details.timeStamp) };
    if (details.error === undefined) end.complete = true;
    // A status wins over what became of the connection afterwards, unless the body broke off.
    else if (aborted) end.canceled = quiet.status === 0;
    else end.error = isCORS(details) ? `CORS: blocked (${details.error})` : details.error;
    flight.cached = details.fromCache === true;
    if (flight.reported) {
      end.stream = true;
      if (end.error === undefined) {
        this.#flights.delete(details.requestId);
        return;
      }
    }
    quiet.end = end;
    if (quiet.status >= 400 || end.error !== undefined) this.#remember(flight, end.at);
    else if (/^(?:image|media)$/.test(flight.resource) && quiet.mime.startsWith('text/')) this.#wait();
    const early = this.#early.findIndex(({ answer }) => fits(answer, quiet));
    if (early >= 0) {
      const [{ answer, timer } = {}] = this.#early.splice(early, 1);
      clearTimeout(timer);
      quiet.answer = answer;
    }
    const expected = quiet.asked && quiet.answer === undefined && (!aborted || end.canceled === true);
    if (expected) quiet.timer = setTimeout(() => this.#finish(quiet), aborted ? GIVEN_UP_MS : HOOKS_MS);
    else this.#finish(quiet);
  }

  /** A request that ends and was not seen to begin: an earlier life of the worker has seen it. */
  #unseen(details: QuietDetails): Quiet | undefined {
    if (details.type === 'websocket') return undefined;
    this.began(details);
    const quiet = this.#flights.get(details.requestId);
    if (quiet !== undefined) quiet.asked = false;
    return quiet;
  }

  #head(quiet: Quiet, { statusCode, responseHeaders }: QuietDetails): void {
    if (statusCode !== undefined && statusCode > 0) quiet.status = statusCode;
    if (responseHeaders !== undefined) quiet.headers = record(responseHeaders);
    const type = Object.entries(quiet.headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
    if (type !== undefined) quiet.mime = type.split(';', 1)[0]?.trim() ?? '';
  }

  /** What the page's own code was answered with. */
  answered(answer: AnswerRecord): void {
    if (!isAnswer(answer)) return;
    if (isGivenUp(answer)) {
      // It is not that of the next request for the same address.
      const late = this.#over.findIndex((over) => over.end?.canceled === true && answers(answer, over));
      if (late >= 0) {
        this.#over.splice(late, 1);
        return;
      }
    }
    for (const quiet of this.#flights.values()) {
      if (!quiet.asked || quiet.answer !== undefined || !fits(answer, quiet)) continue;
      quiet.answer = answer;
      if (quiet.end !== undefined) this.#finish(quiet);
      return;
    }
    if (answer[2] === 'eventsource' || this.#over.some((over) => fits(answer, over))) return;
    const timer = setTimeout(() => {
      this.#early = this.#early.filter((other) => other.answer !== answer);
      this.#alone(answer);
    }, ALONE_MS);
    this.#early.push({ answer, timer });
  }

  /** A request of which the browser says nothing: a service worker answered it. */
  #alone(answer: AnswerRecord): void {
    const [, at, resource, method, url, status, mime, body, note, started, stack] = answer;
    if (!/^https?:/.test(url) || isGivenUp(answer)) return;
    const id = `page-${++this.#lastAlone}`;
    const flight: Flight = {
      id,
      session: inPage,
      method,
      url,
      resource,
      started: Math.floor(started),
      order: Math.round((started % 1) / SAME_MS_STEP),
      stack,
      received: 0,
      cached: false,
      reported: false,
    };
    const end: Ending = { at };
    if (body !== null) end.body = body;
    if (status === 0) end.error = note;
    else if (note !== '') end.bodyNote = note;
    this.#emit(requestEvent(this.#tab, flight));
    this.#report({ requestId: id, asks: url, flight, status, mime, headers: {}, asked: false }, end);
  }

  #finish(quiet: Quiet): void {
    const { answer } = quiet;
    clearTimeout(quiet.timer);
    if (!this.#flights.delete(quiet.requestId) || quiet.end === undefined) return;
    if (quiet.asked && answer === undefined) this.#keep(quiet);
    if (answer !== undefined) {
      const [, , resource, , , status, , body, note, , stack] = answer;
      quiet.flight.resource = resource;
      quiet.flight.stack = stack;
      if (body !== null) quiet.end.body = body;
      if (note !== '' && status > 0) {
        const { 'content-length': sent, 'content-encoding': encoding } = quiet.headers;
        const whole = encoding === undefined && note.startsWith('cut at ') ? sent : undefined;
        quiet.end.bodyNote = whole === undefined ? note : `cut at ${MaxBody} of ${whole} bytes`;
      }
    }
    this.#report(quiet, quiet.end);
  }

  #report(quiet: Quiet, end: Ending): void {
    const { flight, status, mime, headers } = quiet;
    if (status > 0) {
      flight.response = { status, mimeType: mime, headers } as unknown as Flight['response'];
    }
    this.#emit(networkEvent(this.#tab, flight, end));
  }

  /** Already reported: a later response for it is not reported again. */
  #keep(quiet: Quiet): void {
    this.#over.push(quiet);
    if (this.#over.length > MAX_EARLY) this.#over.shift();
  }

  /** An element's resource did not load: of an address that was answered, or of one that the browser hides. */
  failed(record: ResourceRecord, note: (mime: string, named: boolean) => void): void {
    this.#wait(() => this.#judge(record, note));
  }

  #wait(then?: () => void): void {
    this.#unloaded++;
    setTimeout(() => {
      this.#unloaded--;
      then?.();
    }, ELEMENT_MS);
  }

  #judge(record: ResourceRecord, note: (mime: string, named: boolean) => void): void {
    const [, at, tag, address] = record;
    const url = withoutHash(address);
    const near = this.#failed.filter((failed) => Math.abs(failed.at - at) < 5000);
    const own = near.find((failed) => failed.url === url);
    if (own !== undefined) {
      own.known = 'element';
      return;
    }
    const mime = this.#answers.get(url);
    const imported = importedBy(record, mime ?? '');
    const imports = near.filter(({ resource, known }) => resource === imported && known !== 'element');
    if (imports.length > 0) {
      const reported = imports.find(({ known }) => known === undefined);
      if (reported !== undefined)
        reported.known = 'import'; // it is reported as a request
      else if (imported === 'stylesheet') note(mime ?? '', false); // another sheet may have the reported one, and this one an import that is not reported
      return; // several modules import the same one, which is requested once
    }
    if (mime === undefined && /^https?:/.test(url)) {
      const id = `page-${++this.#lastAlone}`;
      const resource = elements[tag] ?? 'other';
      const flight: Flight = {
        id,
        session: inPage,
        method: 'GET',
        url,
        resource,
        started: at,
        order: 0,
        received: 0,
        cached: false,
        reported: false,
      };
      this.#emit(requestEvent(this.#tab, flight));
      this.#emit(networkEvent(this.#tab, flight, { at, error: 'failed to load' }));
      return;
    }
    note(mime ?? '', true);
  }

  #remember({ url, resource }: Flight, at: number): void {
    this.#failed.push({ url, at, resource, known: undefined });
    if (this.#failed.length > MAX_EARLY) this.#failed.shift();
  }

  /** Whether a request was seen to begin and not yet to end. */
  has(requestId: string): boolean {
    return this.#flights.has(requestId);
  }

  /**
   * Reports every request that has ended and only waits for its body. Of the others, it keeps those for documents that
   * are wanted, and returns whether there are any.
   */
  stop(wanted: (url: string) => boolean): boolean {
    for (const quiet of [...this.#flights.values()]) {
      const { url, resource, session } = quiet.flight;
      if (quiet.end !== undefined) this.#finish(quiet);
      else if (session !== inPage || resource !== 'document' || !wanted(url)) {
        this.#flights.delete(quiet.requestId);
      }
    }
    return this.#flights.size > 0;
  }

  /** Whether something that has ended still waits for its other witness. */
  get waiting(): boolean {
    if (this.#early.length > 0 || this.#unloaded > 0) return true;
    for (const quiet of this.#flights.values()) if (quiet.end !== undefined) return true;
    return false;
  }
}

/** Whether a request ended because the page, or the browser, wanted no more of it. */
function givenUp(details: QuietDetails, status: number): boolean {
  switch (details.error) {
    case 'net::ERR_ABORTED':
    case 'net::ERR_CACHE_MISS': // asked of the cache alone; it is asked of the network next
      return true;
    case 'net::ERR_FAILED': // of an answer that had begun: its body was cancelled
      return status > 0 && !isCORS(details);
    default:
      return false;
  }
}

/** Extensions get CORS failures without that name. In practice, a cross-origin failure of this kind is one. */
function isCORS({ error, initiator, url, type }: QuietDetails): boolean {
  return (
    error === 'net::ERR_FAILED' &&
    initiator !== undefined &&
    type !== 'main_frame' &&
    type !== 'sub_frame' &&
    !url.startsWith(`${initiator}/`)
  );
}

const inPage: Session = {};
const inFrame: Session = { target: 'iframe' };

function answers([, , , method, url, status, , , , started]: AnswerRecord, { flight, asks }: Quiet): boolean {
  if (flight.started - started <= -2000) return false;
  // Of a request that failed after a redirect the page knows only what it asked for.
  if (status === 0 && url === asks && asks !== flight.url) return true;
  return url === flight.url && method === flight.method;
}

function isGivenUp([, , resource, , , status, , , note]: AnswerRecord): boolean {
  return status === 0 && note === GIVEN_UP && resource !== 'eventsource';
}

/** Whether what the page says of a request may be of one, given how that ended, if it has. */
function fits(answer: AnswerRecord, quiet: Quiet): boolean {
  const canceled = quiet.end?.canceled === true;
  if (answer[5] > 0 && canceled) return false;
  if (isGivenUp(answer) && quiet.end !== undefined && !canceled) return false;
  return answers(answer, quiet);
}

/** A request that failed. */
interface Failure {
  readonly url: string;
  readonly at: number;
  readonly resource: string;
  /** Whether it failed for an element, or for a style sheet that imports it; undefined if that is not known. */
  known: 'element' | 'import' | undefined;
}

/** Whether a record that a page may have forged is one of an answer. */
function isAnswer(record: readonly unknown[]): boolean {
  const [, at, resource, method, url, status, mime, body, note, started, stack = ''] = record;
  return (
    [at, status, started].every((value) => Number.isFinite(value)) &&
    [method, url, mime, note, stack].every((value) => typeof value === 'string') &&
    ['fetch', 'xhr', 'eventsource'].includes(String(resource)) &&
    (body === null || typeof body === 'string')
  );
}

function record(headers: readonly Header[]): Record<string, string> {
  const all: Record<string, string> = {};
  for (const { name, value = '' } of headers) {
    const key = name.toLowerCase();
    all[key] = key in all ? `${all[key]}\n${value}` : value;
  }
  return all;
}

/** What a page sent, as text. */
function sent(body: RequestBody | null | undefined): string | undefined {
  if (body?.formData !== undefined) {
    const form = new URLSearchParams();
    for (const [name, values] of Object.entries(body.formData))
      for (const value of values) form.append(name, typeof value === 'string' ? value : '(binary)');
    return shortened(form.toString());
  }
  const bytes = body?.raw?.[0]?.bytes;
  if (bytes === undefined || body?.raw?.length !== 1) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return shortened(text);
  } catch {
    return undefined;
  }
}

function shortened(text: string): string {
  return text.length <= MAX_SENT ? text : text.slice(0, MAX_SENT) + CUT;
}
