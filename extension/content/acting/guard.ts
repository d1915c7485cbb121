/**
 * Sees to it that a click lands on the element that it is meant for: what comes under the pointer between looking
 * and pressing, by the pointer's own coming among others, gets none of it, and neither does anything else.
 *
 * It also knows of a click that was pressed on its element and that the browser did not fire.
 */
import type { ActUnclicked } from '../../protocol';
import { contains, isConnected } from '../dom';
import { describe } from '../target';
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
  /** The press on the element, and what lost the focus after it. */
  press?: MouseEvent;
  lost?: Pick<ActUnclicked, 'pressed' | 'field'>;
  /** What was hit by the release. */
  released?: Element;
  clicked?: boolean;
  /** Whether the pointer was released on the element: what moves it afterwards is the page's answer to that. */
  answered?: boolean;
}

/** How a click missed its element. */
interface Missed {
  instead?: Element;
  /** Whether the element has moved away from there. */
  away?: boolean;
  unclicked?: ActUnclicked;
}

export class Guard {
  #watch: Watch | undefined;

  constructor() {
    for (const type of EVENTS) addEventListener(type, (event) => this.#saw(event as MouseEvent), true);
    addEventListener('focusout', (event) => this.#left(event.composedPath()[0]), true);
  }

  /** From now on only the element may be hit. */
  expect(element: Element | undefined): void {
    this.#watch = { element, until: performance.now() + WATCH_MS, began: false };
  }

  /** Ends that. */
  end(): Missed {
    const watch = this.#watch;
    this.#watch = undefined;
    if (watch === undefined) return {};
    const { instead, element, press, lost, released, clicked, answered } = watch;
    if (instead !== undefined) return { instead, away: element === undefined || contains(instead, element) };
    // A page that handles the press or the release itself needs no click.
    const missed = press?.defaultPrevented === false && clicked !== true && answered !== true;
    if (!missed || element === undefined || lost === undefined || released === undefined) return {};
    const removed = !isConnected(element);
    return { unclicked: { ...lost, released: describe(released).target, ...(removed && { removed }) } };
  }

  /** Something lost the focus; the page does not know yet. */
  #left(field: EventTarget | undefined): void {
    const watch = this.#watch;
    if (watch?.press === undefined || watch.released !== undefined || watch.element === undefined) return;
    if (field instanceof Element)
      watch.lost ??= { pressed: describe(watch.element).target, field: describe(field).target };
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
    if (watch.instead !== undefined) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    const [hit] = event.composedPath();
    if (event.type === 'mousedown' && event.button === 0) watch.press ??= event;
    if (event.type === 'mouseup' && hit instanceof Element) watch.released ??= hit;
    const { element } = watch;
    if (!(hit instanceof Element) || element === undefined) return;
    if (event.type === 'pointerup') watch.answered ??= belongs(hit, element, pointed(element));
    if (event.type === 'click')
      watch.clicked = watch.clicked === true || belongs(hit, element, pointed(element));
  }
}
