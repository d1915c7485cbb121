/** The way of the records to the content script, which alone holds the other end. */
import { dispatch, listen, text, unbound } from './natives';
import {
  FLUSH,
  HANDSHAKE,
  type Handshake,
  MAX_STACK,
  type PageRecord,
  RECORDS,
  START,
  STOP,
} from './records';
import { folded, type Holder, written } from './stack';

/** The most records that wait. */
const MAX_WAITING = 256;
const CustomEventNative = CustomEvent;
const EventNative = MouseEvent;
const ArrayNative = Array;
const post = unbound(MessagePort.prototype.postMessage);
const fill = unbound(Array.prototype.fill) as <T>(list: T[], value: T) => T[];
const random = Math.random;
const quote = JSON.stringify as (text: string) => string;

/** A record as it waits: a stack is written out only when it is told. */
export type Waiting = PageRecord | readonly (string | number | boolean | null | Holder)[];

/** Collects records, and hands them over at the end of the task in which they were made, if there is one. */
export class Channel {
  readonly #node = document.createTextNode('');
  readonly #ticker = new MessageChannel();
  // Its places are its own properties, so that no setter of a prototype of the page's is ever run.
  readonly #waiting = fill(new ArrayNative<Waiting | null>(MAX_WAITING), null);
  #count = 0;
  #ticking = false;
  /** Whether anybody wants to know; until the content script has spoken it is assumed. */
  recording = true;
  /** Whether the page is being left. No task comes after this one then: a record is handed over at once. */
  leaving = false;
  /** The message of the error of a worker that was told last, which the page's window may tell again. */
  ofWorker: string | undefined;
  /** Adds the records that were put off; called before a hand-over. */
  settle: () => void = () => undefined;

  constructor({ tell: name, ask }: Handshake = HANDSHAKE) {
    this.#ticker.port2.onmessage = () => {
      this.#ticking = false;
      this.flush();
    };
    const tell = (): void => {
      dispatch(document, new EventNative(name, { relatedTarget: this.#node }));
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
      this.#count = 0;
    });
    listen(document, ask, tell, { once: true });
    tell();
  }

  /** Makes up a name, and tells it to the content script when that asks for it. */
  named(what: string): string {
    const name = `${text(random())}${text(random())}`;
    listen(this.#node, `${what}?`, () => this.answer(what, name));
    return name;
  }

  /** Answers the content script. */
  answer(what: string, detail: string): void {
    dispatch(this.#node, new CustomEventNative(what, { detail }));
  }

  /** Takes a record. */
  add(record: Waiting): void {
    this.#waiting[this.#count++] = record;
    if (this.leaving || this.#count === MAX_WAITING) this.#hand();
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
    this.#hand();
  }

  #hand(): void {
    const count = this.#count;
    if (count === 0) return;
    let all = '';
    for (let i = 0; i < count; i++) {
      all += (i === 0 ? '[' : ',') + encode(this.#waiting[i] as Waiting);
      this.#waiting[i] = null;
    }
    this.#count = 0;
    dispatch(this.#node, new CustomEventNative(RECORDS, { detail: `${text(count)} ${all}]` }));
  }
}

/** A record as JSON, written without what a page may have hung into arrays and objects. */
function encode(record: Waiting): string {
  let all = '';
  for (let i = 0; i < record.length; i++) {
    const value = record[i] as Waiting[number];
    let piece: string;
    if (typeof value === 'string') piece = quote(value);
    else if (typeof value === 'object' && value !== null) piece = quote(folded(written(value), MAX_STACK));
    else piece = text(value);
    all += (i === 0 ? '[' : ',') + piece;
  }
  return `${all}]`;
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
