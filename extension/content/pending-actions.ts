/**
 * Actions whose meaning shows only after the page has handled them: one for each element, reported
 * after a while unless what follows says it better.
 */
export class PendingActions {
  readonly #pending = new Map<Element, { report: () => void; timer: ReturnType<typeof setTimeout> }>();

  /** Reports after `wait` milliseconds, unless dropped; what was pending for the element before, at once. */
  add(element: Element, report: () => void, wait: number): void {
    this.#take(element)?.report();
    const timer = setTimeout(() => this.#take(element)?.report(), wait);
    this.#pending.set(element, { report, timer });
  }

  /** Something better was reported for the element. */
  drop(element: Element): void {
    this.#take(element);
  }

  /** Reports everything pending, in the order in which it was done. */
  settle(): void {
    for (const element of [...this.#pending.keys()]) this.#take(element)?.report();
  }

  /** Forgets everything pending. */
  discard(): void {
    for (const element of [...this.#pending.keys()]) this.#take(element);
  }

  #take(element: Element): { report: () => void } | undefined {
    const held = this.#pending.get(element);
    if (held === undefined) return undefined;
    clearTimeout(held.timer);
    this.#pending.delete(element);
    return held;
  }
}
