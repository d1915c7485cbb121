/** Replays to a worker what Chromium was recorded to report and to answer; see TestRecord in host/e2e/debugging. */
import type { FakeBrowser, FakeEvent, FakePort } from './browser';

/** One line of a recording: something that was asked, the answer to it, an event, or what a content script did. */
export type Recorded =
  | { n: number; tab: number; session?: string; method: string }
  | { n: number; tab: number; ask: string }
  | { answer: number; result?: unknown; error?: string }
  | { event: string; tab: number; args: unknown[] }
  | { content: string; tab: number; frame: number; document: string; message?: { t: string } };

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** How many ms nothing may be asked before a replay waits for the test to go on. */
const IDLE = 20;

/**
 * A browser that reports and answers as it was recorded. The order is kept: what came after a command of the
 * debugger comes only after the worker has sent that command too.
 */
export class Replay {
  /** The commands that the worker has sent to the debugger. */
  readonly sent: string[] = [];
  /** What the worker asked that was not asked when this was recorded. */
  readonly unknown: string[] = [];
  readonly tab: number;
  readonly #browser: FakeBrowser;
  readonly #entries: readonly Recorded[];
  readonly #waiting = new Map<number, Waiting>();
  readonly #asked = new Set<number>();
  readonly #ports = new Map<string, FakePort>();
  #at = 0;

  constructor(browser: FakeBrowser, entries: readonly Recorded[]) {
    this.#browser = browser;
    this.#entries = entries;
    this.tab = entries.flatMap((entry) => ('tab' in entry ? [entry.tab] : []))[0] ?? 0;
    const { debugger: api, scripting } = browser as unknown as {
      debugger: { sendCommand: unknown };
      scripting: { executeScript: unknown };
    };
    api.sendCommand = (_: object, method: string) => this.#command(method);
    scripting.executeScript = (options: { args?: unknown[] }) => this.#script(options);
  }

  /** The commands that were sent when this was recorded. */
  get commands(): string[] {
    return this.#entries.flatMap((entry) => ('method' in entry ? [entry.method] : []));
  }

  /** Whether all has been replayed. */
  get done(): boolean {
    return this.#at === this.#entries.length;
  }

  #command(method: string): Promise<unknown> {
    this.sent.push(method);
    const call = this.#entries.find(
      (entry) => 'method' in entry && entry.method === method && !this.#asked.has(entry.n),
    );
    if (call === undefined || !('n' in call)) {
      this.unknown.push(method);
      return Promise.reject(new Error(`${method} was not recorded`));
    }
    this.#asked.add(call.n);
    return new Promise((resolve, reject) => this.#waiting.set(call.n, { resolve, reject }));
  }

  /** Content scripts answer at once; how often one is asked whether it is at rest depends on time. */
  #script({ args }: { args?: unknown[] }): Promise<unknown> {
    const [request] = args ?? [];
    if (typeof request !== 'string' || !request.startsWith('{')) return Promise.resolve([]);
    const { do: ask } = JSON.parse(request) as { do?: string };
    const calls = this.#entries.flatMap((entry) => ('ask' in entry && entry.ask === ask ? [entry.n] : []));
    const n = calls.find((n) => !this.#asked.has(n)) ?? calls.at(-1);
    const answer = this.#entries.find((entry) => 'answer' in entry && entry.answer === n);
    if (n === undefined || answer === undefined || !('result' in answer)) {
      this.unknown.push(`${ask}`);
      return Promise.resolve([]);
    }
    this.#asked.add(n);
    return Promise.resolve(answer.result);
  }

  /** Goes on until the worker is to send a command that it has not sent; `pass` lets a ms pass. */
  async play(pass: () => Promise<unknown>): Promise<void> {
    for (let idle = 0; !this.done && idle < IDLE; ) {
      const entry = this.#entries[this.#at] as Recorded;
      if ('method' in entry && !this.#asked.has(entry.n)) {
        idle++;
      } else {
        idle = 0;
        this.#at++;
        this.#apply(entry);
      }
      await pass();
    }
    for (let ms = 0; ms < IDLE; ms++) await pass();
  }

  #apply(entry: Recorded): void {
    if ('answer' in entry) {
      const { answer, result, error } = entry;
      if (error === undefined) this.#waiting.get(answer)?.resolve(result);
      else this.#waiting.get(answer)?.reject(new Error(error));
    } else if ('event' in entry) {
      const [api = '', name = ''] = entry.event.split('.');
      const events = Reflect.get(this.#browser, api) as Record<string, FakeEvent>;
      if (entry.event === 'webNavigation.onCommitted') this.#shows(entry.args[0] as { url: string });
      events[name]?.fire(...entry.args);
    } else if ('content' in entry) {
      this.#content(entry);
    }
  }

  #shows({ url, frameId = 0 }: { url: string; frameId?: number }): void {
    const tab = this.#browser.list.find(({ id }) => id === this.tab);
    if (frameId !== 0) return;
    if (tab === undefined) this.#browser.list.push({ id: this.tab, url, active: true, windowId: 1 });
    else tab.url = url;
  }

  #content({ content, frame, document, message }: Extract<Recorded, { content: string }>): void {
    if (content === 'connect') {
      const sender = { tab: { id: this.tab }, frameId: frame, documentId: document };
      const port = this.#browser.connect('content', sender);
      this.#ports.set(document, port);
      // It answers each request to send what it keeps, however often that comes.
      const post = port.postMessage.bind(port);
      port.postMessage = (asked: { t?: string; id?: number }) => {
        post(asked);
        if (asked.t === 'flush') queueMicrotask(() => port.onMessage.fire({ t: 'flushed', id: asked.id }));
      };
    } else if (content === 'disconnect') this.#ports.get(document)?.break();
    else if (message?.t !== 'flushed') this.#ports.get(document)?.onMessage.fire(message);
  }
}
