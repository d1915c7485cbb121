/**
 * Actions whose meaning shows only after the page has handled them: one for each element, reported
 * after a while unless what follows says it better.
 */
export class HeldActions {
  readonly #held = new Map<Element, { report: () => void; timer: ReturnType<typeof setTimeout> }>();

  /** Reports after `wait` milliseconds, unless dropped; what was held for the element before, at once. */
  hold(element: Element, report: () => void, wait: number): void {
    this.#take(element)?.report();
    const timer = setTimeout(() => this.#take(element)?.report(), wait);
    this.#held.set(element, { report, timer });
  }

  /** Something better was reported for the element. */
  drop(element: Element): void {
    this.#take(element);
  }

  /** Reports everything held, in the order in which it was done. */
  settle(): void {
    for (const element of [...this.#held.keys()]) this.#take(element)?.report();
  }

  /** Forgets everything held. */
  discard(): void {
    for (const element of [...this.#held.keys()]) this.#take(element);
  }

  #take(element: Element): { report: () => void } | undefined {
    const held = this.#held.get(element);
    if (held === undefined) return undefined;
    clearTimeout(held.timer);
    this.#held.delete(element);
    return held;
  }
}
