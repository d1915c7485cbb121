/** What hides an element, or lies over it: the element to blame, and the declaration of its style that does it. */
import { cutWhole } from '../../cut';
import { shadowIf } from '../aria/part';
import {
  attribute,
  firstChildOf,
  nextSiblingOf,
  nodeTypeOf,
  parentAcrossRoots,
  parentOf,
  tagOf,
} from '../dom';
import { actedOn } from '../target';
import { ignoresPointers, isShown, pointed } from './ready';

/** An element, and the property with the value that makes it hide another. */
export interface Hider {
  element: Element;
  /** Empty if it is not known which one does it. */
  property: string;
  value: string;
}

/** The most nodes in which a hidden text is sought. */
const MAX_NODES = 50_000;
/** Their text is never shown. */
const UNREAD = new Set('script style template noscript head title'.split(' '));
/** What names an element without a text of its own. Values of fields may be secrets. */
const NAMING = ['aria-label', 'alt', 'title', 'placeholder'];

/** The element around another in what is drawn, in its document. */
function around(element: Element): Element | null {
  const outer = element.assignedSlot ?? parentAcrossRoots(element);
  return outer?.ownerDocument === element.ownerDocument ? outer : null;
}

/** What hides an element; undefined if nothing does, or something else than a style. */
export function hiderOf(target: Element): Hider | undefined {
  const element = pointed(target);
  for (let at: Element | null = element; at !== null; at = around(at)) {
    const style = getComputedStyle(at);
    if (style.display === 'none') return { element: at, property: 'display', value: 'none' };
    if (at !== element && style.contentVisibility === 'hidden')
      return { element: at, property: 'content-visibility', value: 'hidden' };
  }
  const { visibility } = getComputedStyle(element);
  if (visibility !== 'visible') {
    return {
      element: outermost(element, (at) => getComputedStyle(at).visibility === visibility),
      property: 'visibility',
      value: visibility,
    };
  }
  const { width, height } = element.getBoundingClientRect();
  for (const [property, size] of [
    ['height', height],
    ['width', width],
  ] as const) {
    if (size > 0) continue;
    const empty = (at: Element): boolean => at.getBoundingClientRect()[property] === 0;
    return { element: outermost(element, empty), property, value: '0px' };
  }
  return clipperOf(element);
}

/** The outermost of an element and those around it, up to the first that is not so. */
function outermost(element: Element, is: (at: Element) => boolean): Element {
  let found = element;
  for (let at = around(element); at !== null && is(at); at = around(at)) found = at;
  return found;
}

/** The innermost element that clips the middle of another away, and cannot be scrolled to show it. */
export function clipperOf(target: Element): Hider | undefined {
  const { left, top, width, height } = target.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  let { position } = getComputedStyle(target);
  for (let at = around(target); at !== null && position !== 'fixed'; at = around(at)) {
    const style = getComputedStyle(at);
    if (position === 'absolute' && style.position === 'static') continue; // it is not clipped by this one
    position = style.position;
    const box = at.getBoundingClientRect();
    const outside = {
      x: (x < box.left || x > box.right) && /hidden|clip/.test(style.overflowX),
      y: (y < box.top || y > box.bottom) && /hidden|clip/.test(style.overflowY),
    };
    if (!outside.x && !outside.y) continue;
    if (outside.y && box.height === 0) return { element: at, property: 'height', value: '0px' };
    if (outside.x && box.width === 0) return { element: at, property: 'width', value: '0px' };
    return { element: at, property: 'overflow', value: outside.y ? style.overflowY : style.overflowX };
  }
  return undefined;
}

/** The layer that an element in front of others belongs to: the innermost one that is positioned. */
export function layerOf(front: Element): Hider {
  for (let at: Element | null = front; at !== null; at = around(at)) {
    const { position } = getComputedStyle(at);
    if (position !== 'static' && position !== 'relative')
      return { element: at, property: 'position', value: position };
  }
  const { position } = getComputedStyle(front);
  return position === 'static'
    ? { element: front, property: '', value: '' }
    : { element: front, property: 'position', value: position };
}

/** What lets no pointer hit an element. */
export function unhitBy(target: Element): Hider {
  return { element: outermost(pointed(target), ignoresPointers), property: 'pointer-events', value: 'none' };
}

/** What moves an element to where nothing scrolls to; undefined if it is not known. */
export function moverOf(target: Element): Hider | undefined {
  const element = pointed(target);
  const { left, right } = element.getBoundingClientRect();
  const sideways = left + right < 0 || left + right > 2 * innerWidth;
  const [inset, margin] = sideways ? (['left', 'margin-left'] as const) : (['top', 'margin-top'] as const);
  for (let at: Element | null = element; at !== null; at = around(at)) {
    const style = getComputedStyle(at);
    const of = (property: string): string => style.getPropertyValue(property);
    for (const property of style.position === 'static' ? [margin] : [inset, margin])
      if (Number.parseFloat(of(property)) < 0) return { element: at, property, value: of(property) };
    for (const property of ['translate', 'transform'])
      if (of(property) !== 'none') return { element: at, property, value: of(property) };
  }
  return undefined;
}

/** How an element reads in a style sheet. */
export function brief(element: Element): string {
  const id = attribute(element, 'id');
  const [first = ''] = attribute(element, 'class').trim().split(/\s+/);
  return cutWhole(tagOf(element) + (id !== '' ? `#${id}` : first !== '' ? `.${first}` : ''), 60);
}

/** The first hidden element with a text, in any case: as a reader would name it, and the element itself. */
export function seekHidden(text: string): { element: Element; name: string } | undefined {
  const sought = text.trim().toLowerCase();
  if (sought === '') return undefined;
  let left = MAX_NODES;
  const stack: Node[] = [document.documentElement];
  for (let node = stack.pop(); node !== undefined && left > 0; node = stack.pop(), left--) {
    const next = nextSiblingOf(node);
    if (next !== null) stack.push(next);
    let found = '';
    let element: Element | null;
    if (nodeTypeOf(node) === Node.TEXT_NODE) {
      element = parentOf(node);
      const said = (node as Text).data;
      if (said.toLowerCase().includes(sought)) found = said.trim().replace(/\s+/g, ' ');
    } else {
      if (nodeTypeOf(node) !== Node.ELEMENT_NODE) continue;
      element = node as Element;
      if (UNREAD.has(tagOf(element))) continue;
      const inner = shadowIf(element);
      for (const child of [firstChildOf(element), inner === null ? null : firstChildOf(inner)])
        if (child !== null) stack.push(child);
      for (const name of NAMING) {
        const said = attribute(element, name);
        if (found === '' && said.toLowerCase().includes(sought)) found = said.trim();
      }
    }
    if (found === '' || element === null || !isHidden(element)) continue;
    const path: Element[] = [];
    for (let at: Element | null = element; at !== null; at = around(at)) path.push(at);
    const named = actedOn(path);
    const whole = named !== null && isHidden(named) ? named : element;
    return { element: whole, name: `${tagOf(whole)} ${JSON.stringify(cutWhole(found, 60))}` };
  }
  return undefined;
}

function isHidden(element: Element): boolean {
  return !isShown(element, element.getBoundingClientRect()) || clipperOf(element) !== undefined;
}
