import {
  ATTRIBUTES,
  FLUSH,
  type Handshake,
  RECORDS,
  type ResourceRecord,
  START,
  STOP,
} from '../page/records';
import { failedResource } from '../page/resources';
import { all, isConnected } from './dom';

/** The most UTF-16 units kept while no worker takes them; beyond it the oldest go, and are counted. */
const MAX_KEPT = 4 << 20;
/** How long records wait for others to travel with, in ms, and how many lists of them travel at once. */
const BATCH_MS = 50;
const BATCH = 8;

/**
 * The other end of the hooks in the page's world, where they are: takes their records and passes them on
 * in batches.
 */
export class PageHooks {
  readonly #post: (lists: string[], dropped: number) => boolean;
  #node: Node | undefined;
  /** Lists of records, each with its number of them before it. */
  #kept: string[] = [];
  #size = 0;
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #posted = 0;
  /** The page is being left: nothing may wait, since no task comes after this one. */
  #leaving = false;
  /** Undefined until the worker has said whether it wants records; they are kept meanwhile. */
  #on: boolean | undefined;
  /** Since when the document was there without its hooks; undefined when it never was. */
  from: number | undefined;
  /** The name of the event that asks a custom element for its attributes, and the last answer. */
  #asks: string | undefined;
  #answer: string | undefined;
  /** Called once when the hooks have been found. */
  found: () => void = () => undefined;

  constructor(
    document: Document,
    { tell, ask }: Handshake,
    post: (lists: string[], dropped: number) => boolean,
    signal: AbortSignal,
  ) {
    this.#post = post;
    document.addEventListener(tell, (event) => this.#meet(event as MouseEvent, signal), { signal });
    document.dispatchEvent(new Event(ask));
    signal.addEventListener('abort', () => {
      clearTimeout(this.#timer);
      this.#tell(STOP);
    });
  }

  /** Whether the hooks are in this document. */
  get there(): boolean {
    return this.#node !== undefined;
  }

  #meet(event: MouseEvent, signal: AbortSignal): void {
    const node = event.relatedTarget;
    if (this.#node !== undefined || !(node instanceof Node)) return;
    this.#node = node;
    const document = event.currentTarget as Document;
    const began = document.readyState !== 'loading' || document.scripts.length > 0;
    if (began) this.from = performance.timeOrigin;
    node.addEventListener(RECORDS, (sent) => this.#take((sent as CustomEvent<unknown>).detail), {
      signal,
    });
    node.addEventListener(
      ATTRIBUTES,
      (told) => {
        const { detail } = told as CustomEvent<unknown>;
        this.#answer = typeof detail === 'string' ? detail : undefined;
      },
      { signal },
    );
    if (this.#on === false) this.#tell(STOP);
    this.found();
  }

  /** The attributes that a custom element has through its internals, as JSON; undefined if it has none, or the hooks did not see it. */
  attributesOf(element: Element): string | undefined {
    if (this.#asks === undefined) this.#tell(`${ATTRIBUTES}?`);
    this.#asks ??= this.#answer;
    if (this.#asks === undefined) return undefined;
    this.#answer = undefined;
    element.dispatchEvent(new Event(this.#asks));
    return this.#answer;
  }

  #tell(type: string): void {
    this.#node?.dispatchEvent(new Event(type));
  }

  /** The worker wants records, or does not. */
  want(on: boolean): void {
    const before = this.#on;
    this.#on = on;
    if (!on) {
      this.#kept = [];
      this.#size = 0;
      this.#dropped = 0;
      this.#tell(STOP);
    } else {
      if (before === false) this.#tell(START);
      this.#send();
    }
  }

  /** No worker listens until it has spoken again. */
  disconnected(): void {
    this.#leaving = false;
    if (this.#on === true) this.#on = undefined;
  }

  /**
   * Passes on what the page has done so far, and what it still does at once. If the worker has not said yet whether
   * it wants records, it decides when it receives them.
   */
  leave(): void {
    this.#leaving = true;
    this.flush();
  }

  /** Takes a record of the content script's own. */
  add(record: ResourceRecord): void {
    this.#take(`1 ${JSON.stringify([record])}`);
  }

  /** Passes on what the page has done so far. */
  flush(): void {
    this.#tell(FLUSH);
    this.#send();
  }

  #take(list: unknown): void {
    if (this.#on === false || typeof list !== 'string') return;
    this.#kept.push(list);
    this.#size += list.length;
    while (this.#size > MAX_KEPT && this.#kept.length > 1) {
      const oldest = this.#kept.shift() ?? '';
      this.#size -= oldest.length;
      this.#dropped += Number.parseInt(oldest, 10) || 0;
    }
    if (this.#leaving || this.#kept.length >= BATCH || performance.now() - this.#posted > BATCH_MS)
      this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), BATCH_MS);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#on !== true && !(this.#on === undefined && this.#leaving)) return;
    while (this.#kept.length > 0 || this.#dropped > 0) {
      const lists = this.#kept.slice(0, BATCH);
      if (!this.#post(lists, this.#dropped)) {
        this.#on = undefined;
        return;
      }
      this.#kept.splice(0, BATCH);
      this.#size = this.#kept.reduce((size, list) => size + list.length, 0);
      this.#dropped = 0;
    }
    this.#posted = performance.now();
  }
}

/** Reports elements in shadow roots that could not use their resource: of that nothing outside such a root hears. */
export class ShadowResources {
  readonly #report: (record: ResourceRecord) => void;
  readonly #signal: AbortSignal;
  readonly #roots = new WeakSet<ShadowRoot>();
  /** What was reported of each element. */
  readonly #reported = new WeakMap<Element, string>();

  constructor(report: (record: ResourceRecord) => void, signal: AbortSignal) {
    this.#report = report;
    this.#signal = signal;
  }

  /** Watches a shadow root. What failed in it before it was found is reported now. */
  observe(root: ShadowRoot): void {
    if (this.#roots.has(root)) return;
    this.#roots.add(root);
    const failed = ({ isTrusted, target }: Event): void => {
      if (isTrusted && target instanceof Element) this.#failed(target);
    };
    root.addEventListener('error', failed, { capture: true, passive: true, signal: this.#signal });
    for (const element of all(root, 'img, video, audio, source')) void this.#look(element);
  }

  async #look(element: Element): Promise<void> {
    if (await hasFailed(element)) this.#failed(element);
  }

  #failed(element: Element): void {
    const record = failedResource(element);
    if (record === undefined || this.#reported.get(element) === record[3]) return;
    this.#reported.set(element, record[3]);
    this.#report(record);
  }
}

/** Whether an image, a video, a sound or a source of one has failed already. */
async function hasFailed(element: Element): Promise<boolean> {
  if (element instanceof HTMLImageElement) {
    const { complete, naturalWidth, currentSrc } = element;
    if (!complete || naturalWidth > 0 || currentSrc === '') return false;
    const decodes = await element.decode().then(
      () => true,
      () => false,
    );
    return !decodes && element.currentSrc === currentSrc && isConnected(element);
  }
  const NO_SOURCE = HTMLMediaElement.NETWORK_NO_SOURCE;
  if (element instanceof HTMLMediaElement) return element.error !== null;
  const { parentNode } = element;
  return parentNode instanceof HTMLMediaElement && parentNode.networkState === NO_SOURCE;
}
