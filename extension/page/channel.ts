/** The way of the records to the content script, which alone holds the other end. */
import { append, dispatch, listen, unbound } from './natives';
import { ASK, FLUSH, type PageRecord, RECORDS, START, STOP, TELL } from './records';

const MAX_WAITING = 256;
const CustomEventNative = CustomEvent;
const EventNative = MouseEvent;
const post = unbound(MessagePort.prototype.postMessage);

/** Collects records, and hands them over at the end of the task in which they were made. */
export class Channel {
  readonly #node = document.createTextNode('');
  readonly #ticker = new MessageChannel();
  #waiting: PageRecord[] = [];
  #ticking = false;
  /** Whether anybody wants to know; until the content script has spoken it is assumed. */
  recording = true;
  /** The message of the error of a worker that was told last, which the page's window may tell again. */
  ofWorker: string | undefined;
  /** Makes the records that were put off complete; called before a hand-over. */
  settle: () => void = () => undefined;

  constructor() {
    this.#ticker.port2.onmessage = () => {
      this.#ticking = false;
      this.flush();
    };
    const tell = (): void => {
      dispatch(document, new EventNative(TELL, { relatedTarget: this.#node }));
    };
    const on = (type: string, does: () => void): void => {
      listen(this.#node, type, does);
    };
    on(FLUSH, () => this.flush());
    on(START, () => {
      this.recording = true;
    });
    on(STOP, () => {
      this.recording = false;
      this.#waiting = [];
    });
    listen(document, ASK, tell, { once: true });
    tell();
  }

  /** Takes a record. */
  add(record: PageRecord): void {
    append(this.#waiting, record);
    if (this.#waiting.length >= MAX_WAITING) this.flush();
    else this.tick();
  }

  /** Hands over soon. */
  tick(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    post(this.#ticker.port1, 0);
  }

  /** Hands over what waits: the content script has it when this returns. */
  flush(): void {
    this.settle();
    if (this.#waiting.length === 0) return;
    const detail = this.#waiting;
    this.#waiting = [];
    dispatch(this.#node, new CustomEventNative(RECORDS, { detail }));
  }
}

/** Keeps a number for an object without the object being changed. */
export class Numbers {
  readonly #of = new WeakMap<object, number>();
  readonly #get = unbound(WeakMap.prototype.get);
  readonly #set = unbound(WeakMap.prototype.set);
  #last = 0;

  give(object: object): number {
    this.#set(this.#of, object, ++this.#last);
    return this.#last;
  }

  get(object: object): number | undefined {
    return this.#get(this.#of, object) as number | undefined;
  }
}
