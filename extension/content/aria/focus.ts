/** Which elements have the focus, or the keys, and which of those that were read with it have lost it since. */
import { activeIn } from './element';
import { hostOf, shadowIf } from './part';

export class Focus {
  readonly #document: Document;
  #focused: Element | null = null;
  /** The one that the focused element says has the keys. */
  #active: Element | null = null;
  /** The elements that had one of the states when they were read last, be it between two looks. */
  readonly #marked = new Set<Element>();

  constructor(document: Document) {
    this.#document = document;
  }

  /** Takes in the states of an element that was read. */
  read(element: Element, states: readonly string[]): void {
    if (states.includes('focused') || states.includes('active')) this.#marked.add(element);
    else this.#marked.delete(element);
  }

  /** The elements that have to be read again, because the focus is elsewhere than when they were read. */
  moved(): Set<Element> {
    let focused = this.#document.activeElement;
    for (let root = shadowIf(focused); root?.activeElement; root = shadowIf(focused))
      focused = root.activeElement;
    const here = new Set<Element>();
    for (let at = focused; at !== null && at !== undefined; at = hostOf(at)) here.add(at);
    const active = focused === null ? null : activeIn(focused);
    if (active !== null) here.add(active);
    const moved = new Set([...this.#marked].filter((element) => !here.has(element)));
    if (moved.size > 0 || focused !== this.#focused || active !== this.#active) {
      for (const element of here) moved.add(element);
    }
    this.#focused = focused;
    this.#active = active;
    this.#marked.clear();
    for (const element of here) this.#marked.add(element);
    return moved;
  }
}
