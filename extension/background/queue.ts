/** Numbers events, and keeps them until the host has taken them. */
import type { AnyEvent, GapEvent, KindGap } from '../protocol';

/** Bounds of the queue: what does not fit is counted, the oldest first. */
export const MAX_EVENTS = 20_000;
export const MAX_BYTES = 16 << 20;
/** What may be under way without an acknowledgement; more waits, so that the host sets the pace. */
const MAX_UNDER_WAY = 8 << 20;
/** Gaps that are kept when everything else is dropped. */
const MAX_GAPS = 1000;

interface Waiting {
  readonly event: AnyEvent;
  readonly size: number;
}

/** Consecutive events, ready to be sent. */
export interface Batch {
  first: number;
  events: AnyEvent[];
}

interface Lost {
  from: number;
  to: number;
  dropped: number;
}

/**
 * Events get their number when they are first sent, so that dropping unsent ones leaves no hole in the
 * numbering: the host sees a gap event in their place instead.
 */
export class EventQueue {
  /** Sent and not acknowledged; the first one's number is {@link #base}. */
  #sent: Waiting[] = [];
  #base = 1;
  #sentBytes = 0;
  /** How many of {@link #sent} were sent on the present connection. */
  #cursor = 0;
  #unsent: Waiting[] = [];
  #head = 0;
  #unsentBytes = 0;
  readonly #lost = new Map<number, Lost>();
  /** Gap events that would have been dropped: one of them may be the end of a gap that the host keeps open. */
  #gaps: Waiting[] = [];
  /** Events lost since the queue was made. */
  dropped = 0;

  push(event: AnyEvent): void {
    const size = estimate(event);
    this.#unsent.push({ event, size });
    this.#unsentBytes += size;
    while (this.length > MAX_EVENTS || this.#unsentBytes + this.#sentBytes > MAX_BYTES) {
      if (!this.#dropOldest()) return;
    }
  }

  #dropOldest(): boolean {
    const oldest = this.#shift();
    if (oldest === undefined) return false;
    const { event } = oldest;
    if (event.kind === 'gap' && this.#gaps.length < MAX_GAPS) {
      this.#gaps.push(oldest);
      return true;
    }
    const lost = this.#lost.get(event.tab) ?? { from: event.at, to: event.at, dropped: 0 };
    lost.from = Math.min(lost.from, event.at);
    lost.to = Math.max(lost.to, event.at);
    if (event.kind === 'gap') {
      lost.from = Math.min(lost.from, event.from);
      lost.dropped += event.dropped ?? 0;
    } else {
      lost.dropped++;
      this.dropped++;
    }
    this.#lost.set(event.tab, lost);
    return true;
  }

  #shift(): Waiting | undefined {
    const oldest = this.#unsent[this.#head];
    if (oldest === undefined) return undefined;
    this.#head++;
    this.#unsentBytes -= oldest.size;
    // Moving the rest on each time would cost the square of a long queue.
    if (this.#head > 1024 && this.#head * 2 > this.#unsent.length) {
      this.#unsent = this.#unsent.slice(this.#head);
      this.#head = 0;
    }
    return oldest;
  }

  /** The next events to send, within both bounds but at least one; undefined when there are none or the host is behind. */
  take(maxEvents: number, maxBytes: number): Batch | undefined {
    const events: AnyEvent[] = [];
    const first = this.#base + this.#cursor;
    let bytes = 0;
    while (events.length < maxEvents && bytes < maxBytes) {
      const next = this.#sent[this.#cursor] ?? this.#number();
      if (next === undefined) break;
      this.#cursor++;
      events.push(next.event);
      bytes += next.size;
    }
    return events.length === 0 ? undefined : { first, events };
  }

  /** Moves the next unsent event, or a gap for lost ones, to the sent events. */
  #number(): Waiting | undefined {
    if (this.#sentBytes > MAX_UNDER_WAY) return undefined;
    const [gone] = this.#lost;
    let next: Waiting | undefined;
    if (gone !== undefined) {
      this.#lost.delete(gone[0]);
      const event = droppedEvent(...gone);
      next = { event, size: estimate(event) };
    } else {
      next = this.#gaps.shift() ?? this.#shift();
    }
    if (next === undefined) return undefined;
    this.#sent.push(next);
    this.#sentBytes += next.size;
    return next;
  }

  /** The host has taken everything below `next`. */
  ack(next: number): void {
    const taken = Math.min(next - this.#base, this.#sent.length);
    if (taken <= 0) return;
    for (const { size } of this.#sent.splice(0, taken)) this.#sentBytes -= size;
    this.#base += taken;
    this.#cursor = Math.max(0, this.#cursor - taken);
  }

  /** A new connection begins: everything that the host has not taken is to be sent again. */
  rewind(next: number): void {
    this.ack(next);
    this.#cursor = 0;
  }

  /** The number of the oldest event that is still kept. */
  get first(): number {
    return this.#base;
  }

  /** Events that the host has not taken yet. */
  get length(): number {
    return this.#sent.length + this.#gaps.length + this.#unsent.length - this.#head;
  }

  /** Events that wait to be sent on the present connection. */
  get unsent(): number {
    return this.length - this.#cursor + this.#lost.size;
  }

  /** About how many bytes wait to be sent for the first time. */
  get unsentBytes(): number {
    return this.#unsentBytes;
  }
}

function droppedEvent(tab: number, { from, to, dropped }: Lost): GapEvent & { kind: typeof KindGap } {
  return { kind: 'gap', at: to, tab, from, to, reason: 'dropped', ...(dropped > 0 && { dropped }) };
}

/** About how many bytes an event takes on the wire: what is long in it is text. */
export function estimate(event: AnyEvent): number {
  let size = 64;
  for (const value of Object.values(event as object)) {
    if (typeof value === 'string') size += value.length + 16;
    else if (typeof value === 'object' && value !== null) {
      for (const [key, text] of Object.entries(value)) size += key.length + String(text).length + 8;
    } else size += 16;
  }
  return size;
}
