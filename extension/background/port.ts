/** The connection to the native host: handshake, batches, acknowledgements, and coming back. */

import { CodedError } from '../coded-error';
import type { AskHost, ConnectionState } from '../messages';
import {
  type Ack,
  type AnyEvent,
  CodeStopped,
  CodeUnavailable,
  CodeVersion,
  type ErrorMessage,
  type Events,
  type Hello,
  type Request,
  type Response,
  type Tab,
  TypeAck,
  TypeError as TypeErrorMessage,
  TypeEvents,
  TypeHello,
  TypeRequest,
  TypeResponse,
  TypeTabs,
  TypeWelcome,
  Version,
  type Welcome,
} from '../protocol';
import { t } from '../text';
import { EventQueue } from './queue';

/** When a batch is sent: whichever comes first. After an idle spell the first event goes at once. */
const FLUSH_MS = 50;
const BATCH_EVENTS = 256;
const BATCH_BYTES = 512 << 10;

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;
/** How long the host may take to answer hello: it may have to start its daemon first. */
const WELCOME_MS = 15_000;
const REQUEST_MS = 10_000;

/** The part of `chrome.runtime.Port` that is used. */
export interface NativePort {
  postMessage(message: unknown): void;
  disconnect(): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

/** What the port needs of its surroundings. */
export interface PortOptions {
  connect(): NativePort;
  /** Why the last port was disconnected: `chrome.runtime.lastError`. */
  lastError(): string | undefined;
  hello(): Pick<Hello, 'extension' | 'browser' | 'instance' | 'session'>;
  /** Answers a request of the host's; a rejection becomes an error response. */
  answer(method: string, params: unknown): Promise<unknown>;
  /** Called when the connection's state has changed. */
  changed(): void;
  random?(): number;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

type Known = Welcome | Ack | Request | Response | ErrorMessage;

/**
 * Sends every event once and in order for as long as the worker lives: what the host has not
 * acknowledged is sent again on the next connection, what the queue could not hold is counted.
 */
export class HostPort {
  /** Names this numbering; a new life of the worker begins a new one. */
  readonly stream = crypto.randomUUID();
  readonly queue = new EventQueue();
  readonly #options: PortOptions;
  #port: NativePort | undefined;
  #state: ConnectionState['state'] = 'connecting';
  #why = '';
  #host = '';
  #run: string | undefined;
  #retries = 0;
  #retryAt = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #welcomeTimer: ReturnType<typeof setTimeout> | undefined;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #flushedAt = 0;
  /** Undefined until it is known: an empty list would say that there are none. */
  #tabs: Tab[] | undefined;
  #requests = 0;
  readonly #pending = new Map<number, Pending>();
  #drained: (() => void)[] = [];

  constructor(options: PortOptions) {
    this.#options = options;
  }

  get state(): ConnectionState {
    const counts = { queued: this.queue.length, dropped: this.queue.dropped };
    const host = this.#state === 'connected' ? { host: this.#host } : {};
    const retry = this.#retryTimer === undefined ? {} : { retry_at: this.#retryAt };
    return { state: this.#state, text: this.#text(), ...host, ...retry, ...counts };
  }

  /** Names the life of the host that the port is connected to; undefined while it is not. */
  get run(): string | undefined {
    return this.#state === 'connected' ? (this.#run ?? '') : undefined;
  }

  #text(): string {
    switch (this.#state) {
      case 'connected':
        return t('connectedTo', this.#host);
      case 'connecting':
        return t('connectingTo');
      case 'waiting':
        if (this.#port !== undefined) return this.#why;
        return this.#why === '' ? t('unreachable') : t('unreachableWhy', this.#why);
      case 'refused':
        return this.#why;
    }
  }

  /** Connects, unless that is under way or done. Also ends a wait for the next attempt. */
  connect(): void {
    if (this.#port !== undefined) return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    const port = this.#options.connect();
    this.#port = port;
    this.#set('connecting');
    port.onMessage.addListener((message) => {
      if (this.#port === port) this.#message(message as Known);
    });
    port.onDisconnect.addListener(() => {
      const error = this.#options.lastError();
      if (this.#port === port) this.#lost(error);
    });
    this.#welcomeTimer = setTimeout(() => this.#giveUp(t('unreachableSilent')), WELCOME_MS);
    const hello: Hello = {
      type: TypeHello,
      protocol: Version,
      ...this.#options.hello(),
      stream: this.stream,
      first: this.queue.first,
    };
    port.postMessage(hello);
  }

  #giveUp(why: string): void {
    this.#port?.disconnect();
    this.#lost(why);
  }

  /** Ends what waits for the host. */
  #reject(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new Error(t('connectionLost')));
    }
    this.#pending.clear();
  }

  #lost(error: string | undefined): void {
    this.#port = undefined;
    clearTimeout(this.#welcomeTimer);
    this.#reject();
    const setup = setupProblem(error);
    if (setup !== undefined) this.#refuse(setup);
    else if (this.#state !== 'refused') this.#set('waiting', error?.replace(/\.$/, ''));
    const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#retries++);
    const wait = this.#state === 'refused' ? LAST_RETRY_MS : longest;
    const jittered = wait * (0.5 + (this.#options.random ?? Math.random)() / 2);
    this.#retryAt = Date.now() + jittered;
    this.#retryTimer = setTimeout(() => this.connect(), jittered);
    this.#options.changed();
  }

  /** The relay ends the connection when the host runs again. */
  #stopped(): void {
    this.#reject();
    this.#set('waiting', t('stoppedByUser'));
  }

  #refuse(why: string): void {
    this.#set('refused', why);
  }

  #set(state: ConnectionState['state'], why = ''): void {
    // An attempt to connect does not make a standing refusal disappear from the popup.
    if (state === 'connecting' && this.#state === 'refused') return;
    this.#state = state;
    this.#why = why;
    this.#options.changed();
  }

  #message(message: Known): void {
    switch (message.type) {
      case TypeWelcome:
        this.#welcome(message as Welcome);
        break;
      case TypeAck: {
        const { stream, next } = message as Ack;
        if (stream !== this.stream) return;
        this.queue.ack(next);
        this.#send();
        break;
      }
      case TypeRequest:
        this.#answer(message as Request);
        break;
      case TypeResponse:
        this.#response(message as Response);
        break;
      case TypeErrorMessage: {
        const { error } = message as ErrorMessage;
        if (error.code === CodeVersion) this.#refuse(error.message);
        else if (error.code === CodeStopped) this.#stopped();
      }
    }
  }

  #welcome({ protocol, host, next, run }: Welcome): void {
    clearTimeout(this.#welcomeTimer);
    if (protocol !== Version) {
      const why = t('otherVersions', host);
      this.#refuse(why);
      this.#giveUp(why);
      return;
    }
    this.#retries = 0;
    this.#host = host;
    this.#run = run;
    this.queue.rewind(next);
    this.#state = 'connected';
    if (this.#tabs !== undefined) this.#port?.postMessage({ type: TypeTabs, tabs: this.#tabs });
    this.#options.changed();
    this.flush();
  }

  /** Tells the host which tabs there are, now and after each new connection. */
  tabs(tabs: Tab[]): void {
    this.#tabs = tabs;
    if (this.#state === 'connected') this.#port?.postMessage({ type: TypeTabs, tabs });
  }

  /** Queues an event and sees to it that it is sent soon. */
  emit(event: AnyEvent): void {
    this.queue.push(event);
    if (this.#state !== 'connected') return;
    if (this.queue.unsent >= BATCH_EVENTS || this.queue.unsentBytes >= BATCH_BYTES) this.flush();
    else
      this.#flushTimer ??= setTimeout(
        () => this.flush(),
        Math.max(0, this.#flushedAt + FLUSH_MS - Date.now()),
      );
  }

  /** Sends everything that may be sent. */
  flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    this.#send();
  }

  #send(): void {
    if (this.#state !== 'connected' || this.#port === undefined) return;
    for (let batch = this.queue.take(BATCH_EVENTS, BATCH_BYTES); batch !== undefined; ) {
      const message: Events = { type: TypeEvents, stream: this.stream, ...batch };
      this.#flushedAt = Date.now();
      this.#port.postMessage(message);
      batch = this.queue.take(BATCH_EVENTS, BATCH_BYTES);
    }
    if (this.queue.unsent > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Resolves when everything that is queued now was posted. */
  async drained(): Promise<void> {
    this.flush();
    if (this.queue.unsent > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  /** Calls one of the popup's methods on the host. */
  readonly ask: AskHost = (method, params) => this.request(method, params) as Promise<never>;

  /** Sends a request to the host; rejects with a message for the user. */
  request(method: string, params: unknown): Promise<unknown> {
    const port = this.#port;
    if (this.#state !== 'connected' || port === undefined) return Promise.reject(new Error(this.#text()));
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new Error(t('answerLate')));
      }, REQUEST_MS);
      this.#pending.set(id, { resolve, reject, timer });
      const request: Request = { type: TypeRequest, id, method, params };
      this.flush(); // the host answers with what it knows
      port.postMessage(request);
    });
  }

  #response({ id, result, error }: Response): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    if (error === undefined) pending.resolve(result);
    else pending.reject(new Error(error.message));
  }

  #answer({ id, method, params }: Request): void {
    const port = this.#port;
    const respond = (response: Omit<Response, 'type' | 'id'>): void => {
      if (this.#port !== port) return;
      this.flush(); // the host reads an answer with what it knows
      port?.postMessage({ type: TypeResponse, id, ...response });
    };
    this.#options.answer(method, params).then(
      (result) => respond({ result }),
      (error: unknown) => respond({ error: asError(error) }),
    );
  }
}

function asError(error: unknown): { code: string; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof CodedError ? error.code : CodeUnavailable, message };
}

/** What the user must do before the browser can start the host; undefined if nothing. */
function setupProblem(error: string | undefined): string | undefined {
  if (error === undefined) return undefined;
  if (/host not found/i.test(error)) return t('notInstalled');
  if (/forbidden/i.test(error)) return t('notPermitted');
  return undefined;
}
