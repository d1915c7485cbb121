/** Records of a tab's page witnesses, reported only where the debugger has not reported the same. */
import type { LogRecord, ResourceRecord, ThrownRecord } from '../page/records';
import type { AnyEvent } from '../protocol';
import { redactURL } from '../redact/redact';
import { pageEntry, pageThrown, unusableEntry } from './console/console';
import { readRecords } from './page-records';
import type { Emit, Where } from './source';
import { withoutHash } from './text';

/** How long the debugger may take to report what the page has reported, in ms. */
const WITNESS_MS = 400;
/** How far apart the two may date the same error, in ms, and the same call to the console. */
const SAME_MS = 1000;
const SAME_CALL_MS = 100;
/** The most addresses of which it is known how they were answered, and the most errors and calls that are compared. */
const MAX_KNOWN = 1000;
const MAX_COMPARED = 50;

/** The resource types of what media elements ask for. */
const compared = new Set(['image', 'media', 'texttrack', 'other']);

type Console = Extract<AnyEvent, { kind: 'console' }>;

/** Joins what the page says with what the debugger says of one tab. */
export class PageWitness {
  readonly #tab: number;
  readonly #emit: Emit;
  /** The last response of each address: the MIME type, or undefined if it was reported as a failure. */
  readonly #answers = new Map<string, string | undefined>();
  readonly #thrown: Console[] = [];
  readonly #logged: Console[] = [];
  #waiting: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tab: number, emit: Emit) {
    this.#tab = tab;
    this.#emit = emit;
  }

  /** Notes an event that the debugger has reported. */
  note(event: AnyEvent): void {
    if (event.kind === 'network' && compared.has(event.resource)) {
      const { url, status, error, canceled, mime = '' } = event;
      const failed = status === 0 || status >= 400 || error !== undefined || canceled === true;
      this.#answers.delete(url);
      this.#answers.set(url, failed ? undefined : mime);
      if (this.#answers.size > MAX_KNOWN) this.#answers.delete(this.#answers.keys().next().value ?? '');
    } else if (event.kind === 'console') {
      if (event.via === 'exception') compare(this.#thrown, event);
      else if (event.via === 'console' && /^(?:error|warning)$/.test(event.level))
        compare(this.#logged, event);
    }
  }

  /** Takes the records of the witness in a frame, and the number of lost ones. */
  take(frame: number, lists: readonly string[], dropped = 0): void {
    if (dropped > 0) {
      const at = Date.now();
      this.#emit({ kind: 'gap', at, tab: this.#tab, from: at, to: at, reason: 'dropped', dropped });
    }
    const where: Where = { tab: this.#tab, target: frame > 0 ? 'iframe' : undefined };
    readRecords(lists, (record) => {
      if (record[0] === 'resource') this.#wait(() => this.#unusable(record, where));
      else if (record[0] === 'thrown') this.#wait(() => this.#error(record, where));
      else if (record[0] === 'log') this.#wait(() => this.#call(record, where));
    });
  }

  #wait(report: () => void): void {
    this.#waiting.push(report);
    this.#timer ??= setTimeout(() => this.settle(), WITNESS_MS);
  }

  #unusable(record: ResourceRecord, where: Where): void {
    const url = redactURL(withoutHash(record[3])).text;
    if (this.#answers.has(url) && this.#answers.get(url) === undefined) return;
    this.#emit(unusableEntry(record, this.#answers.get(url) ?? '', where));
  }

  // The witness reports errors and calls to the console only while its page is being left.

  #error(record: ThrownRecord, where: Where): void {
    const event = pageThrown(record, { ...where, left: true });
    const told = this.#thrown.some(
      ({ text, at }) => text === event.text && Math.abs(at - event.at) < SAME_MS,
    );
    if (!told) this.#emit(event);
  }

  #call(record: LogRecord, where: Where): void {
    const event = pageEntry(record, { ...where, left: true });
    const told = this.#logged.some(
      ({ text, at, level, url, line, column }) =>
        level === event.level &&
        Math.abs(at - event.at) < SAME_CALL_MS &&
        (text === event.text || (url === event.url && line === event.line && column === event.column)),
    );
    if (!told) this.#emit(event);
  }

  /** Tells what waits, as far as the debugger has not. */
  settle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const report of this.#waiting.splice(0)) {
      try {
        report();
      } catch {
        // A record that the page has forged may be none.
      }
    }
  }
}

function compare(list: Console[], event: Console): void {
  list.push(event);
  if (list.length > MAX_COMPARED) list.shift();
}
