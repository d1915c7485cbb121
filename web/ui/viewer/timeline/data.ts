/** What is on the timeline, in few bytes: typed arrays that grow, so that 100,000 events cost little to keep and draw. */
import type { ViewLane, ViewPositions, ViewTimeline } from '../../../../extension/protocol';
import { LANES } from './lanes';

/** Severities of an event as they are kept; {@link HIDDEN} is what noise rules keep out. */
export const [CLEAN, WARNING, ERROR, HIDDEN] = [0, 1, 2, 3] as const;

const ZERO = '0'.charCodeAt(0);

/** The events of one lane in the order of their positions; times may be a little out of order. */
export class Lane {
  length = 0;
  /** Milliseconds since the epoch. */
  times = new Float64Array(256);
  positions = new Float64Array(256);
  marks = new Uint8Array(256);

  append(lane: ViewLane): void {
    const count = lane.times.length;
    this.#reserve(this.length + count);
    let time = lane.time;
    let position = lane.position;
    for (let i = 0; i < count; i++) {
      time += lane.times[i] ?? 0;
      position += lane.positions === undefined ? (i === 0 ? 0 : 1) : (lane.positions[i] ?? 0);
      this.times[this.length] = time;
      this.positions[this.length] = position;
      this.marks[this.length] = lane.marks.charCodeAt(i) - ZERO;
      this.length++;
    }
  }

  /** Forgets what the host no longer holds. */
  dropBefore(position: number): void {
    let n = 0;
    while (n < this.length && (this.positions[n] ?? 0) < position) n++;
    // Moving everything for a few is not worth it: they are forgotten with the next ones.
    if (n === 0 || (n < this.length / 8 && n < 1000)) return;
    this.times.copyWithin(0, n, this.length);
    this.positions.copyWithin(0, n, this.length);
    this.marks.copyWithin(0, n, this.length);
    this.length -= n;
  }

  /** Forgets all. */
  clear(): void {
    this.length = 0;
  }

  #reserve(length: number): void {
    if (length <= this.times.length) return;
    const room = Math.max(length, this.times.length * 2);
    const grow = <T extends Float64Array | Uint8Array>(old: T, made: T): T => {
      made.set(old);
      return made;
    };
    this.times = grow(this.times, new Float64Array(room));
    this.positions = grow(this.positions, new Float64Array(room));
    this.marks = grow(this.marks, new Uint8Array(room));
  }
}

/** A span that was not observed; `to` is infinite while it goes on. */
export interface Gap {
  from: number;
  to: number;
  reason: string;
  dropped: number;
}

/** An event as it is found under the pointer. */
export interface Found {
  lane: string;
  position: number;
  time: number;
  mark: number;
}

/** Everything on the timeline. */
export class TimelineData {
  readonly #lanes = new Map(LANES.map((name) => [name, new Lane()]));
  /** The names of the lanes: those of the table that are always shown, then others that have had entries. A new one makes a new list. */
  names: readonly string[] = LANES;
  gaps: Gap[] = [];
  /** Since when a lane is held that was held from an earlier time, in ms. */
  held: Readonly<Record<string, number>> = {};
  /** Where to read on. */
  next: ViewPositions = {};
  /** The state of everything but events, as the host named it last. */
  marks = '';
  /** When what is held begins, and the newest time heard of, in ms. */
  start = 0;
  now = 0;
  #store = '';

  get count(): number {
    return this.names.reduce((sum, name) => sum + this.lane(name).length, 0);
  }

  /** The events of a lane. */
  lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(name, lane);
      this.names = [...this.names, name];
    }
    return lane;
  }

  /** Takes an answer in. True when there was anything new, false when it was out of date and is to be asked anew. */
  take(answer: ViewTimeline): boolean {
    if (this.#store !== '' && this.#store !== answer.store) {
      this.clear();
      return false;
    }
    this.#store = answer.store;
    for (const lane of answer.lanes) this.lane(lane.lane).append(lane);
    for (const [name, first] of Object.entries(answer.first)) this.#lanes.get(name)?.dropBefore(first);
    this.held = answer.held ?? {};
    this.next = answer.next;
    this.start = answer.start;
    this.now = Math.max(this.now, answer.now);
    if (answer.marks !== this.marks) {
      this.marks = answer.marks;
      this.gaps = (answer.gaps ?? []).map(({ from, to, reason, dropped }) => ({
        from,
        to: to ?? Number.POSITIVE_INFINITY,
        reason,
        dropped: dropped ?? 0,
      }));
    }
    return true;
  }

  clear(): void {
    for (const name of this.names) this.#lanes.set(name, new Lane());
    this.gaps = [];
    this.held = {};
    this.next = {};
    this.marks = '';
    this.#store = '';
  }

  /** The time of the first event, or when what is held begins. */
  get first(): number {
    let first = this.now || this.start;
    for (const { times, length } of this.#lanes.values()) {
      if (length > 0) first = Math.min(first, times[0] ?? first);
    }
    return first;
  }

  /** The event of a lane nearest to a time, no farther than so many ms; of several the worst, then the newest. */
  nearest(name: string, time: number, within: number): Found | undefined {
    const { times, marks, positions, length } = this.lane(name);
    let best = -1;
    let bestMark = -1;
    for (let i = 0; i < length; i++) {
      if (Math.abs((times[i] ?? 0) - time) > within) continue;
      const mark = RANK[marks[i] ?? 0] ?? 0;
      if (mark >= bestMark) {
        best = i;
        bestMark = mark;
      }
    }
    if (best < 0) return undefined;
    return { lane: name, position: positions[best] ?? 0, time: times[best] ?? 0, mark: marks[best] ?? 0 };
  }
}

/** How severe a mark is beside the others: what is hidden is less than a warning. */
export const RANK = [0, 2, 3, 1] as const;
