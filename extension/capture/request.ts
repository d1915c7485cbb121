/** One request while it lasts, and the events made of it. */
import type { Protocol } from 'devtools-protocol';
import { operationOf } from '../graphql';
import { ARCHIVE_TYPE, CUT, NOT_TEXT, TEXT_TYPES } from '../page/records';
import { type AnyEvent, MaxBody } from '../protocol';
import { redactBody, redactHeaders, redactText, redactURL } from '../redact/redact';
import type { Session } from './context';
import { causeLines, initiatorLines, parseStack } from './stack';
import { byteLength, cutBytes } from './text';

/** Larger bodies are not even looked at: they would have to come through the worker whole. */
export const MAX_BODY_READ = 2 << 20;
const MAX_HEADERS = 4 << 10;

type NetworkEvent = Extract<AnyEvent, { kind: 'network' }>;
type RequestEvent = Extract<AnyEvent, { kind: 'request' }>;

/** When a request was sent. */
export interface Sent {
  /** Milliseconds since the epoch. */
  readonly started: number;
  /** How many requests of the tab were sent before it in the same millisecond. */
  readonly order: number;
}

/** How far a clock must go back to be taken as set back, in ms. */
const SET_BACK_MS = 1000;

/** Dates the requests of a tab: none begins before one that was seen earlier. */
export class SendTimes {
  #last: Sent = { started: 0, order: 0 };

  /** The next request, which was sent at `at`. */
  next(at: number): Sent {
    const { started, order } = this.#last;
    const later = at > started || started - at > SET_BACK_MS;
    this.#last = later ? { started: at, order: 0 } : { started, order: order + 1 };
    return this.#last;
  }
}

/** A request that has begun. */
export interface Flight extends Sent {
  readonly id: string;
  readonly session: Session;
  readonly method: string;
  readonly url: string;
  /** The browser's resource type in lower case. */
  resource: string;
  readonly loader?: string | undefined;
  readonly requestHeaders?: Record<string, string> | undefined;
  readonly requestBody?: string | undefined;
  /** What the debugger says of who began it. */
  readonly initiator?: Protocol.Network.Initiator | undefined;
  /** The stack of the code that began it, in V8's own writing, as the page's hooks report it. */
  stack?: string | undefined;
  response?: Protocol.Network.Response | undefined;
  /** Decoded bytes received so far. */
  received: number;
  cached: boolean;
  /** What the browser's log said of a CORS failure, before the failure itself. */
  corsReason?: string | undefined;
  /** True once its NetworkEvent was emitted before its end. */
  reported: boolean;
  /** True once the network has all of the answer, whether the page reads it or not. */
  arrived?: boolean | undefined;
  /** Set while a body is waited for that the page may never read. */
  unread?: Unread | undefined;
  /** True when the start was not seen by the debugger. */
  late?: boolean | undefined;
}

/** A response whose body the page has not read yet. */
export interface Unread {
  /** Reports the request without the body. */
  readonly timer: ReturnType<typeof setTimeout>;
  /** Called when the request ends or is reported. */
  over?: () => void;
}

/** How a request ended. */
export interface Ending {
  /** Milliseconds since the epoch. */
  at: number;
  size?: number;
  error?: string;
  canceled?: boolean;
  stream?: boolean;
  body?: string;
  bodyNote?: string;
  /** True when all of the answer came. */
  complete?: boolean;
}

export function requestEvent(tab: number, flight: Flight): RequestEvent {
  const url = redactURL(flight.url);
  const operation = operationOf(flight.requestBody);
  return {
    kind: 'request',
    at: flight.started,
    tab,
    ...(url.masked > 0 && { masked: url.masked }),
    id: flight.id,
    method: flight.method,
    url: url.text,
    resource: flight.resource,
    ...(operation !== '' && redactText(operation).masked === 0 && { operation }),
  };
}

export function networkEvent(tab: number, flight: Flight, end: Ending): NetworkEvent {
  const { response } = flight;
  const url = redactURL(flight.url);
  // Chromium may report only the end of a service worker's script, with any status.
  const status = response?.status ?? (end.complete === true ? 200 : 0);
  const failed = status === 0 || status >= 400 || end.error !== undefined;
  const event: NetworkEvent = {
    kind: 'network',
    at: end.at,
    tab,
    id: flight.id,
    method: flight.method,
    url: url.text,
    resource: flight.resource,
    status,
    started: flight.started,
    duration: Math.max(0, end.at - flight.started),
  };
  let masked = url.masked;
  if (flight.order > 0) event.order = flight.order;
  if (end.error !== undefined) event.error = end.error;
  if (end.canceled === true) event.canceled = true;
  if (end.stream === true) event.stream = true;
  if (response?.mimeType) event.mime = response.mimeType;
  if (end.size !== undefined && end.size > 0) event.size = end.size;
  if (flight.cached) event.cached = true;
  if (failed || keepsHeaders.has(flight.resource)) {
    if (flight.requestHeaders !== undefined) {
      const request = keepHeaders(flight.requestHeaders);
      event.request_headers = request.headers;
      masked += request.masked;
    }
    if (response !== undefined) {
      const answer = keepHeaders(response.headers);
      event.response_headers = answer.headers;
      masked += answer.masked;
    }
  }
  if (flight.requestBody !== undefined) {
    const body = keepBody(flight.requestBody);
    event.request_body = body.text;
    masked += body.masked;
  }
  if (end.body !== undefined) {
    const body = keepBody(end.bodyNote === undefined ? end.body : end.body + CUT);
    event.response_body = body.text;
    masked += body.masked;
    if (body.note !== undefined) event.body_note = body.note;
  }
  if (end.bodyNote !== undefined) event.body_note = end.bodyNote;
  if (failed || !bodyless.has(flight.resource)) {
    const stack =
      flight.stack === undefined ? initiatorLines(flight.initiator) : causeLines(parseStack(flight.stack));
    if (stack !== undefined && stack.length > 0) event.stack = stack;
  }
  if (flight.session.target !== undefined) event.target = flight.session.target;
  if (masked > 0) event.masked = masked;
  return event;
}

const keepsHeaders = new Set(['document', 'xhr', 'fetch']);

/** Masked, and as many of them as fit. */
function keepHeaders(all: Record<string, string>): { headers: Record<string, string>; masked: number } {
  const kept: Record<string, string> = {};
  let size = 0;
  for (const [name, value] of Object.entries(all)) {
    size += name.length + value.length;
    if (size > MAX_HEADERS) break;
    kept[name] = value;
  }
  return redactHeaders(kept);
}

/** Masked before it is cut, so that no secret is cut in two. */
function keepBody(whole: string): { text: string; masked: number; note?: string } {
  const { text, masked } = redactBody(whole);
  const cut = cutBytes(text, MaxBody);
  if (cut.length === text.length) return { text, masked };
  return { text: cut, masked, note: `cut at ${MaxBody} of ${byteLength(whole)} bytes` };
}

/** Says whether a type is text, or unknown. */
function isText(mime: string): boolean {
  const type = mime.toLowerCase();
  if (type.includes(ARCHIVE_TYPE)) return false;
  return type === '' || type.startsWith('text/') || TEXT_TYPES.some((part) => type.includes(part));
}

/** Static files, of which little is reported when they load. Their bodies are in the workspace. */
const bodyless = new Set([
  'script',
  'stylesheet',
  'image',
  'font',
  'media',
  'texttrack',
  'manifest',
  'ping',
  'prefetch',
]);

/** Says whether an answer's body is worth reading. */
export function wantsBody({ resource, response }: Flight): boolean {
  if (response === undefined || response.status === 204 || response.status === 304) return false;
  return isText(response.mimeType) && (response.status >= 400 || !bodyless.has(resource));
}

/** Why a body was not read; undefined where none is worth a word. */
export function unreadNote({ resource, response, received }: Flight): string | undefined {
  if (response === undefined || received === 0 || isText(response.mimeType)) return undefined;
  return keepsHeaders.has(resource) ? NOT_TEXT : undefined;
}

/** A body that the browser took for bytes, as text; undefined where it is none. */
export function decoded(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
