/**
 * Does the work of the next look in the page's idle time, while somebody looks now and then: what changed
 * is read when it changed, so that the look finds little to do.
 */

/** For how long after a look, in ms. */
const FOLLOWED_MS = 60_000;
/** When all is asked again though nothing gave a sign of a change, in ms after it was asked last, at the earliest. */
const UNSIGNALLED_MS = 500;
/** How long the page is kept from its own work at a time, in ms; a look that begins meanwhile waits as long. */
const SLICE_MS = 4;

export class Ahead {
  /** Works until a time is over, in ms; returns whether all is done. */
  readonly #work: (until: number) => boolean;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** How long the present round has worked, in ms, and before when the next one may not begin. */
  #spent = 0;
  #earliest = 0;
  /** When the next round is to begin. */
  #due = Number.POSITIVE_INFINITY;
  #planned = new AbortController();
  /** A snapshot is running: two at the same time would report a part in two places. */
  #looks = false;

  constructor(work: (until: number) => boolean) {
    this.#work = work;
  }

  /** Takes in that something changed. */
  soon = (): void => {
    if (this.#looks) return;
    const now = performance.now();
    if (now - this.#lookedAt < FOLLOWED_MS) this.#plan(Math.max(now, this.#earliest));
  };

  /** Leaves the work to a look, which does it now. */
  leave(): void {
    this.#looks = true;
    this.#planned.abort();
    this.#due = Number.POSITIVE_INFINITY;
    this.#spent = 0;
  }

  /** Takes in that a look is over, and when all was asked last. */
  looked(asked: number): void {
    this.#looks = false;
    this.#lookedAt = this.#earliest = performance.now();
    this.#plan(Math.max(this.#lookedAt, asked + UNSIGNALLED_MS));
  }

  #plan(at: number): void {
    if (at >= this.#due) return;
    this.#due = at;
    this.#planned.abort();
    this.#planned = new AbortController();
    this.#post(Math.max(0, at - performance.now()));
  }

  /** Has a part of the work done when the page has nothing else to do. */
  #post(delay: number): void {
    const { signal } = this.#planned;
    scheduler.postTask(this.#run, { priority: 'background', delay, signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  readonly #run = (): void => {
    const began = performance.now();
    const done = this.#work(began + SLICE_MS);
    const now = performance.now();
    this.#spent += now - began;
    if (!done) {
      this.#post(0);
      return;
    }
    // The older the last snapshot, the smaller the share of the time.
    this.#earliest = now + this.#spent * (2 + (now - this.#lookedAt) / 250);
    this.#spent = 0;
    this.#due = Number.POSITIVE_INFINITY;
    if (now - this.#lookedAt < FOLLOWED_MS) this.#plan(Math.max(now + UNSIGNALLED_MS, this.#earliest));
  };
}
