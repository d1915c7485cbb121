/**
 * The viewer's client over HTTP. What the timeline waits for comes by one stream of server-sent events, which is
 * taken up again where it broke off; everything else is one request a question.
 */
import { type Signal, signal } from '@preact/signals';
import type { ViewPositions, ViewTimeline, ViewTimelineParams } from '../../extension/protocol';
import { t } from '../../extension/text';
import type { Ask, Connection, ViewerClient } from '../ui/client';
import { eventsOf } from './events';
import { routeOf, withQuery } from './routes';

/** How long until it is tried again to reach the daemon, in milliseconds. */
const RETRY_MS = 2000;

const CONNECTED: Connection = { state: 'connected', text: t('connectedShort') };
const CONNECTING: Connection = { state: 'connecting', text: t('loading') };
const WAITING: Connection = { state: 'waiting', text: t('hostAway') };
const ENDED: Connection = { state: 'refused', text: t('sessionEnded', t('signedOut')) };

/** The request could not be answered: an Error for a person. */
class Failed extends Error {}

/** Speaks with the daemon that served this page. */
export class HttpClient implements ViewerClient {
  readonly connection: Signal<Connection> = signal(CONNECTING);
  readonly #token: string;
  readonly #fetch: typeof fetch;
  #stream: TimelineStream | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(token: string, fetcher: typeof fetch = (input, init) => fetch(input, init)) {
    this.#token = token;
    this.#fetch = fetcher;
  }

  readonly ask: Ask = async (method, params) => {
    if (method === 'view_timeline') {
      const p = params as ViewTimelineParams;
      if ((p.wait_ms ?? 0) > 0) return await this.#wait(p);
    }
    const { method: verb, path, body } = routeOf(method, params);
    const response = await this.#request(path, {
      method: verb,
      ...(body === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
    return await response.json();
  };

  connect(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    if (this.connection.value.state === 'refused') return;
    void this.ask('view_overview', {}).catch(() => undefined);
  }

  /** Ends what goes on. */
  close(): void {
    clearTimeout(this.#retry);
    this.#stream?.close();
    this.#stream = null;
  }

  /** A response that is fine; else the connection's state says so, and what is thrown is for a person. */
  async #request(path: string, init: RequestInit = {}): Promise<Response> {
    if (this.connection.value.state === 'refused') throw new Failed(ENDED.text);
    let response: Response;
    try {
      response = await this.#fetch(`/api/${path}`, {
        ...init,
        headers: { ...init.headers, Authorization: `Bearer ${this.#token}` },
        cache: 'no-store',
        credentials: 'omit',
      });
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      this.#lost();
      throw new Failed(WAITING.text);
    }
    if (response.status === 401) {
      this.connection.value = ENDED;
      throw new Failed(ENDED.text);
    }
    this.connection.value = CONNECTED;
    if (response.ok) return response;
    throw new Failed(await problemOf(response));
  }

  #lost(): void {
    this.#stream?.close();
    this.#stream = null;
    if (this.connection.value.state !== 'refused') this.connection.value = WAITING;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.connect();
    }, RETRY_MS);
  }

  /** What the timeline has after positions, waiting for it: off the stream, which is begun where it is not there. */
  async #wait(p: ViewTimelineParams): Promise<ViewTimeline> {
    if (this.#stream === null || !this.#stream.stands(p)) {
      this.#stream?.close();
      const stream = new TimelineStream(p);
      this.#stream = stream;
      const { tab, marks, after } = p;
      const path = withQuery('events', { tab, marks, after });
      const response = await this.#request(path, { signal: stream.signal });
      void stream.read(response).then((ended) => {
        if (ended === 'broken' && this.#stream === stream) this.#lost();
        else if (this.#stream === stream) this.#stream = null; // the next question begins another
      });
    }
    const next = await this.#stream.take(p.wait_ms ?? 0);
    if (next !== null) return next;
    // Nothing is new: where it stands is asked without waiting.
    return (await this.ask('view_timeline', { ...p, wait_ms: 0 })) as ViewTimeline;
  }
}

/** What went wrong, by an answer of problem details. */
async function problemOf(response: Response): Promise<string> {
  try {
    const problem = (await response.json()) as { detail?: string; errors?: { message?: string }[] };
    const more = problem.errors?.map((e) => e.message).join(', ');
    return [problem.detail, more].filter((text) => text !== undefined && text !== '').join(': ');
  } catch {
    return t('answeredWith', response.status);
  }
}

/** The stream of one tab's timeline (0: of all), and what of it was not asked for yet. */
class TimelineStream {
  readonly #abort = new AbortController();
  readonly #tab: number;
  readonly #queue: ViewTimeline[] = [];
  #at: ViewPositions;
  #over = false;
  #wake: () => void = () => undefined;

  constructor(p: ViewTimelineParams) {
    this.#tab = p.tab ?? 0;
    this.#at = p.after ?? {};
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether its next event is what a question asks for. */
  stands(p: ViewTimelineParams): boolean {
    return !this.#over && (p.tab ?? 0) === this.#tab && samePositions(p.after ?? {}, this.#at);
  }

  close(): void {
    this.#over = true;
    this.#abort.abort();
    this.#wake();
  }

  /** Reads until it ends, or says that it broke. */
  async read(response: Response): Promise<'ended' | 'broken'> {
    try {
      if (response.body === null) return 'broken';
      for await (const event of eventsOf(response.body)) {
        if (event.name === 'behind') break; // what is missing, the timeline's first positions say
        if (event.name !== 'timeline') continue;
        this.#queue.push(JSON.parse(event.data) as ViewTimeline);
        this.#wake();
      }
      return this.#abort.signal.aborted ? 'ended' : 'broken';
    } catch {
      return this.#abort.signal.aborted ? 'ended' : 'broken';
    } finally {
      this.#over = true;
      this.#wake();
    }
  }

  /** The next event, waiting for it at most so many milliseconds; null when none came. */
  async take(waitMs: number): Promise<ViewTimeline | null> {
    if (this.#queue.length === 0 && !this.#over) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const next = this.#queue.shift();
    if (next === undefined) return null;
    this.#at = next.next;
    return next;
  }
}

function samePositions(a: ViewPositions, b: ViewPositions): boolean {
  const lanes = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...lanes].every((lane) => (a[lane] ?? 0) === (b[lane] ?? 0));
}
