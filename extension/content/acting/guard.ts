/**
 * Sees to it that a click lands on the element that it is meant for: what comes under the pointer between looking
 * and pressing, by the pointer's own coming among others, gets none of it, and neither does anything else.
 */
import { contains } from '../dom';
import { belongs, hitAt, pointed } from './ready';

/** A click, from its beginning to its end. */
const EVENTS = 'pointerdown mousedown pointerup mouseup click auxclick dblclick contextmenu'.split(' ');
/** After this the user's clicks are let through again, whatever happened to the awaited one; in ms. */
const WATCH_MS = 3000;

interface Watch {
  /** What is to be hit; undefined for nothing in this document, but in a frame of it. */
  element: Element | undefined;
  until: number;
  began: boolean;
  /** What was hit instead. */
  instead?: Element;
}

export class Guard {
  #watch: Watch | undefined;

  constructor() {
    for (const type of EVENTS) addEventListener(type, (event) => this.#saw(event as MouseEvent), true);
  }

  /** From now on only the element may be hit. */
  expect(element: Element | undefined): void {
    this.#watch = { element, until: performance.now() + WATCH_MS, began: false };
  }

  /** Ends that. Answers with what would have been hit instead, and whether the element has moved away from there. */
  end(): { instead: Element; away: boolean } | undefined {
    const watch = this.#watch;
    this.#watch = undefined;
    if (watch?.instead === undefined) return undefined;
    const { instead, element } = watch;
    return { instead, away: element === undefined || contains(instead, element) };
  }

  #saw(event: MouseEvent): void {
    const watch = this.#watch;
    if (watch === undefined || !event.isTrusted) return;
    if (performance.now() > watch.until) {
      this.#watch = undefined;
      return;
    }
    if (!watch.began) {
      watch.began = true;
      const { element } = watch;
      const hit = hitAt(document, { x: event.clientX, y: event.clientY }) ?? document.documentElement;
      if (element === undefined || !belongs(hit, element, pointed(element))) watch.instead = hit;
    }
    if (watch.instead === undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}
