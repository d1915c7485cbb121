import type { ContentEvent } from '../messages';

/** The report of one error element. */
export type ElementReport = Extract<ContentEvent, { kind: 'element' }>;

/** An element as it was reported last. */
export interface Reported {
  /** Unique within the document; new each time the element is shown again. */
  id: number;
  /** When it was shown, milliseconds since the epoch. */
  since: number;
  selector: string;
  text: string;
  /** Whether it calls for attention. */
  alert: boolean;
}

/**
 * Gathers what happened in one go (one batch of the page's changes), and numbers it.
 *
 * An element that was replaced by its like in one go is the same to a reader: the new one takes over
 * the number of the old one, and nothing is reported.
 */
export class ReportBatch {
  readonly #document: string;
  #events: ElementReport[] = [];
  readonly #arrived = new Map<number, Reported>();
  #lastID = 0;

  constructor(document: string) {
    this.#document = document;
  }

  appeared(selector: string, text: string, at: number, alert: boolean): Reported {
    this.#lastID++;
    const reported: Reported = { id: this.#lastID, since: at, selector, text, alert };
    this.#arrived.set(reported.id, reported);
    this.#events.push(this.describe(reported));
    return reported;
  }

  changed(reported: Reported, text: string, at: number): void {
    reported.text = text;
    this.#events.push({ ...this.describe(reported), op: 'changed', at });
  }

  gone(reported: Reported, at: number): void {
    this.#events.push({ ...this.describe(reported), op: 'gone', at });
  }

  /** The report that the element appeared, when it did. */
  describe(reported: Reported): ElementReport {
    const { id, since, selector, text, alert } = reported;
    const head = { kind: 'element', op: 'appeared', at: since, document: this.#document } as const;
    return { ...head, id, selector, text, ...(alert && { alert }) };
  }

  /** Returns the collected reports and starts a new batch. */
  take(): ElementReport[] {
    const events = this.#withoutReplaced();
    this.discard();
    return events;
  }

  discard(): void {
    this.#events = [];
    this.#arrived.clear();
  }

  #withoutReplaced(): ElementReport[] {
    const events = this.#events;
    const left = events.filter((event) => event.op === 'gone' && !this.#arrived.has(event.id));
    if (left.length === 0 || this.#arrived.size === 0) return events;
    const cameAndWent = new Set(events.filter((event) => event.op === 'gone').map((event) => event.id));
    const dropped = new Set<ElementReport>();
    for (const gone of left) {
      const appeared = events.find(
        (event) =>
          event.op === 'appeared' &&
          !dropped.has(event) &&
          !cameAndWent.has(event.id) &&
          event.selector === gone.selector &&
          event.text === gone.text,
      );
      const heir = appeared && this.#arrived.get(appeared.id);
      if (heir === undefined || appeared === undefined) continue;
      // A change that follows in the same batch must carry the number that the reader knows.
      for (const event of events) if (event.id === heir.id) event.id = gone.id;
      heir.id = gone.id;
      dropped.add(gone).add(appeared);
    }
    return events.filter((event) => !dropped.has(event));
  }
}
