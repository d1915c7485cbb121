/**
 * What the page's own requests were answered with. That they were made, and how they ended, the browser
 * tells (`webRequest`); the bodies it does not, so they are read beside the page, as far as they are text.
 */
import { MaxBody } from '../protocol';
import type { Channel } from './channel';
import { errorHead, isError } from './describe';
import { call, clean, hookMethod } from './disguise';
import { after, getter, indexOf, isA, now, slice, unbound } from './natives';
import {
  type AnswerRecord,
  ARCHIVE_TYPE,
  GIVEN_UP,
  MAX_READ,
  NOT_TEXT,
  SAME_MS_STEP,
  TEXT_TYPES,
} from './records';
import { deep, type Holder } from './stack';

const urlOf = getter<string>(Response.prototype, 'url');
const statusOf = getter<number>(Response.prototype, 'status');
const typeOf = getter<string>(Response.prototype, 'type');
const headersOf = getter<Headers>(Response.prototype, 'headers');
const bodyOf = getter<ReadableStream<Uint8Array> | null>(Response.prototype, 'body');
const usedOf = getter<boolean>(Response.prototype, 'bodyUsed');
const header = unbound(Headers.prototype.get) as (headers: Headers, name: string) => string | null;
const copy = unbound(Response.prototype.clone) as (response: Response) => Response;
const readerOf = unbound(ReadableStream.prototype.getReader) as (
  stream: ReadableStream<Uint8Array>,
) => ReadableStreamDefaultReader<Uint8Array>;
const readOf = unbound(ReadableStreamDefaultReader.prototype.read) as (
  reader: unknown,
) => Promise<{ done: boolean; value?: Uint8Array }>;
const cancelOf = unbound(ReadableStreamDefaultReader.prototype.cancel) as (reader: unknown) => Promise<void>;
const decode = unbound(TextDecoder.prototype.decode) as (
  decoder: TextDecoder,
  bytes?: Uint8Array,
  options?: object,
) => string;
const TextDecoderNative = TextDecoder;
const methodOfRequest = getter<string>(Request.prototype, 'method');
const upper = unbound(String.prototype.toUpperCase) as (text: string) => string;
const lower = unbound(String.prototype.toLowerCase) as (text: string) => string;
const stringify = JSON.stringify;
const href = getter<string>(URL.prototype, 'href');
const hrefOf = isA(href);
const requestURL = isA(getter<string>(Request.prototype, 'url'));
const exceptionName = isA(getter<string>(DOMException.prototype, 'name'));
const URLNative = URL;
const RequestNative = Request;

const listen = unbound(EventTarget.prototype.addEventListener);
const xhr = XMLHttpRequest.prototype;
const xhrStatus = getter<number>(xhr, 'status');
const xhrURL = getter<string>(xhr, 'responseURL');
const xhrType = getter<string>(xhr, 'responseType');
const xhrText = getter<string>(xhr, 'responseText');
const xhrResponse = getter<unknown>(xhr, 'response');
const xhrHeader = unbound(xhr.getResponseHeader) as (request: unknown, name: string) => string | null;

/** Types whose bodies are worth reading; streams that do not end are none. */
function isText(mime: string): boolean {
  const type = lower(mime);
  if (indexOf(type, 'event-stream') >= 0 || indexOf(type, ARCHIVE_TYPE) >= 0) return false;
  if (slice(type, 0, 5) === 'text/') return true;
  for (let i = 0; i < TEXT_TYPES.length; i++) if (indexOf(type, TEXT_TYPES[i] as string) >= 0) return true;
  return false;
}

/** An address without its hash. */
export function withoutHash(url: string): string {
  const at = indexOf(url, '#');
  return at < 0 ? url : slice(url, 0, at);
}

/** The method of a call of `fetch`; read only where reading runs none of the page's code. */
function methodOf(args: readonly unknown[]): string {
  const init = args[1];
  if (typeof init === 'object' && init !== null) {
    const method = Reflect.getOwnPropertyDescriptor(init, 'method')?.value;
    if (typeof method === 'string') return upper(method);
  }
  const input = args[0];
  return typeof input === 'object' && input instanceof RequestNative ? methodOfRequest(input) : 'GET';
}

/** What a request was asked for with, and by which code. */
interface Asked {
  readonly started: number;
  readonly stack: Holder;
}

let lastSent = 0;

/** When a request is sent, in milliseconds since the epoch: later than each before it in the same millisecond. */
function sent(): number {
  const at = now();
  const same = at <= lastSent && lastSent - at < 1;
  lastSent = same ? lastSent + SAME_MS_STEP : at;
  return lastSent;
}

/** Records answers to `fetch` and `XMLHttpRequest`. */
export function hookRequests(channel: Channel): void {
  hookMethod(window, 'fetch', (native) => (self, args) => {
    const asked = channel.recording ? { started: sent(), stack: deep() } : undefined;
    const promise = call<Promise<Response>>(native, self, args);
    if (asked === undefined) return promise;
    // The page has a promise that nobody else has touched: whether it is dealt with stays its own affair.
    return after(
      promise,
      (response) => {
        try {
          answered(channel, methodOf(args), response, asked);
        } catch {
          // the page has its answer all the same
        }
        return response;
      },
      (error) => {
        try {
          refused(channel, args, error, asked);
        } catch {
          // the page has its error all the same
        }
        throw clean(error);
      },
    );
  });
  hookMethod(Response.prototype, 'json', (native) => (self, args) => {
    const promise = call<Promise<unknown>>(native, self, args);
    if (!channel.recording) return promise;
    return after(promise, undefined, (error) => {
      try {
        // Chromium tells no page of a rejection by its own code that nobody deals with.
        if (isError(error)) unreadable(channel, self as Response, errorHead(error));
      } catch {
        // the page has its error all the same
      }
      throw clean(error);
    });
  });
  const opened = new WeakMap<object, Opened>();
  const remember = unbound(WeakMap.prototype.set);
  const recall = unbound(WeakMap.prototype.get) as (map: unknown, request: unknown) => Opened | undefined;
  hookMethod(xhr, 'open', (native) => (self, args) => {
    const result = call(native, self, args);
    if (typeof args[0] === 'string') remember(opened, self, { method: upper(args[0]), address: args[1] });
    return result;
  });
  hookMethod(xhr, 'send', (native) => (self, args) => {
    if (channel.recording) {
      const asked = { started: sent(), stack: deep() };
      const of = recall(opened, self) ?? { method: 'GET', address: undefined };
      const on = (type: string, tell: () => void): void => {
        const told = (): void => {
          try {
            tell();
          } catch {
            // the page has its answer all the same
          }
        };
        listen(self, type, told, { once: true });
      };
      try {
        on('loadend', () => answeredXHR(channel, of.method, self, asked));
        on('error', () => unansweredXHR(channel, of, asked, 'NetworkError: the request failed'));
        on('abort', () => unansweredXHR(channel, of, asked, GIVEN_UP));
        on('timeout', () => unansweredXHR(channel, of, asked, GIVEN_UP));
      } catch {
        // no request: what follows says so
      }
    }
    return call(native, self, args);
  });
}

/** An answer that is not the JSON for which it is taken; a warning, because the page may know what to do. */
function unreadable(channel: Channel, response: Response, error: string): void {
  if (slice(error, 0, 12) !== 'SyntaxError:') return;
  channel.add([
    'note',
    now(),
    'javascript',
    'warning',
    `${error} (response of ${urlOf(response)})`,
    '',
    0,
    0,
  ]);
}

/** The address that a value names, without what follows a hash; read only where reading runs none of the page's code. */
function addressOf(input: unknown): string {
  const url =
    typeof input === 'string'
      ? href(new URLNative(input, document.baseURI))
      : (requestURL(input) ?? hrefOf(input) ?? '');
  return withoutHash(url);
}

/** Tells how a request ended. */
function tell(
  channel: Channel,
  { started, stack }: Asked,
  resource: AnswerRecord[2],
  method: string,
  url: string,
  status: number,
  mime: string,
  body: string | null,
  note: string,
): void {
  channel.add(['answer', now(), resource, method, url, status, mime, body, note, started, stack]);
}

/** A request without an answer: given up by the page, or failed. */
function refused(channel: Channel, args: readonly unknown[], error: unknown, asked: Asked): void {
  const url = addressOf(args[0]);
  const failed = isError(error) && exceptionName(error) !== 'AbortError';
  if (url !== '')
    tell(channel, asked, 'fetch', methodOf(args), url, 0, '', null, failed ? errorHead(error) : GIVEN_UP);
}

/** Reads the beginning of a body from a copy, so that the page's own stays whole. */
function answered(channel: Channel, method: string, response: Response, asked: Asked): void {
  const status = statusOf(response);
  const type = typeOf(response);
  const url = withoutHash(urlOf(response));
  if (url === '' || type === 'opaque' || type === 'opaqueredirect') return;
  const mime = header(headersOf(response), 'content-type') ?? '';
  const told = (body: string | null, note: string): void =>
    tell(channel, asked, 'fetch', method, url, status, mime, body, note);
  const binary = mime !== '' && !isText(mime) && indexOf(lower(mime), 'event-stream') < 0;
  const stream =
    usedOf(response) || !isText(mime) || bodyOf(response) === null ? null : bodyOf(copy(response));
  if (stream === null) {
    told(null, binary && bodyOf(response) !== null ? NOT_TEXT : '');
    return;
  }
  const reader = readerOf(stream);
  const decoder = new TextDecoderNative();
  let body = '';
  let size = 0;
  const next = (): void => {
    void after(
      readOf(reader),
      ({ done, value }) => {
        if (done || value === undefined) {
          told(body + decode(decoder), '');
          return;
        }
        size += value.length;
        body += decode(decoder, value, { stream: true });
        if (size <= MAX_READ) {
          next();
          return;
        }
        void after(
          cancelOf(reader),
          () => undefined,
          () => undefined,
        );
        told(body, `cut at ${MaxBody} bytes; the response is longer`);
      },
      () => told(null, 'the response broke off'),
    );
  };
  next();
}

/** What `open` was called with. */
interface Opened {
  readonly method: string;
  readonly address: unknown;
}

/** A request without an answer. */
function unansweredXHR(channel: Channel, { method, address }: Opened, asked: Asked, note: string): void {
  const url = addressOf(address);
  if (url !== '') tell(channel, asked, 'xhr', method, url, 0, '', null, note);
}

function answeredXHR(channel: Channel, method: string, request: unknown, asked: Asked): void {
  const status = xhrStatus(request);
  const url = withoutHash(xhrURL(request));
  if (status === 0 || url === '') return;
  const mime = xhrHeader(request, 'content-type') ?? '';
  let body: string | null = null;
  let note = '';
  if (isText(mime)) {
    const type = xhrType(request);
    if (type === '' || type === 'text') body = xhrText(request);
    else if (type === 'json') body = stringify(xhrResponse(request)) ?? null;
    if (body !== null && body.length > MAX_READ) {
      note = `cut at ${MaxBody} bytes of ${body.length} characters`;
      body = slice(body, 0, MAX_READ);
    }
  } else if (mime !== '' && xhrResponse(request) !== null && xhrResponse(request) !== '') {
    note = NOT_TEXT;
  }
  tell(channel, asked, 'xhr', method, url, status, mime, body, note);
}
