/** What hides an element, or lies over it: the element to blame, and the declaration of its style that does it. */
import { folded } from '../../clean';
import { cutWhole } from '../../cut';
import type { Point } from '../../messages';
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
import { tagIn } from '../selector';
import { actedOn } from '../target';
import { ignoresPointers, isShown, pointed } from './ready';

/** An element, and the property with the value that makes it hide another. */
export interface Hider {
  element: Element;
  /** The pseudo-element of it that does it: `::after`. */
  pseudo?: string;
  /** Empty if it is not known which one does it; the attribute for `aria-hidden`. */
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
  return clipperOf(element) ?? hushedBy(element);
}

/** What hides an element from those who hear the page, as open dialogs do with all behind them, and so from snapshots. */
function hushedBy(element: Element): Hider | undefined {
  for (let at: Element | null = element; at !== null; at = around(at))
    if (attribute(at, 'aria-hidden') === 'true')
      return { element: at, property: 'aria-hidden', value: 'true' };
  return undefined;
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

/** Whether an element is inside another in what is drawn. */
function isInside(inner: Element, outer: Element): boolean {
  for (let at: Element | null = inner; at !== null; at = around(at)) if (at === outer) return true;
  return false;
}

/** Where the box begins by which a pseudo-element of an element is positioned. */
function originOf(element: Element, position: string): Point {
  for (let at: Element | null = element; at !== null; at = around(at)) {
    const style = getComputedStyle(at);
    const holds = style.transform !== 'none' || style.filter !== 'none' || style.contain !== 'none';
    if (!holds && (position === 'fixed' || style.position === 'static')) continue;
    const { left, top } = at.getBoundingClientRect();
    return { x: left + at.clientLeft - at.scrollLeft, y: top + at.clientTop - at.scrollTop };
  }
  return position === 'fixed' ? { x: 0, y: 0 } : { x: -scrollX, y: -scrollY };
}

/** Whether a positioned pseudo-element of an element is drawn at a point. */
function isAt(element: Element, style: CSSStyleDeclaration, { x, y }: Point): boolean {
  const sum = (...properties: string[]): number =>
    properties.reduce((all, property) => all + (Number.parseFloat(style.getPropertyValue(property)) || 0), 0);
  const origin = originOf(element, style.position);
  const { e, f } = new DOMMatrixReadOnly(style.transform);
  const left = origin.x + e + sum('left', 'margin-left');
  const top = origin.y + f + sum('top', 'margin-top');
  const around = (a: string, b: string): number =>
    style.boxSizing === 'border-box'
      ? 0
      : sum(`padding-${a}`, `padding-${b}`, `border-${a}-width`, `border-${b}-width`);
  return (
    x >= left &&
    x <= left + sum('width') + around('left', 'right') &&
    y >= top &&
    y <= top + sum('height') + around('top', 'bottom')
  );
}

/** The positioned pseudo-element of an element that covers others; at a point, if that is known. */
function pseudoOf(front: Element, at: Point | undefined, certain: boolean): Hider | undefined {
  const drawn = ['::before', '::after']
    .map((pseudo) => ({ pseudo, style: getComputedStyle(front, pseudo) }))
    .filter(
      ({ style }) =>
        !/^(?:none|normal)$/.test(style.content) &&
        /^(?:absolute|fixed)$/.test(style.position) &&
        style.display !== 'none' &&
        style.visibility === 'visible' &&
        style.pointerEvents !== 'none',
    );
  const there = at === undefined ? [] : drawn.filter(({ style }) => isAt(front, style, at));
  const level = ({ style }: { style: CSSStyleDeclaration }): number => Number.parseInt(style.zIndex, 10) || 0;
  // Of equal ones the second is in front.
  const [top] = (there.length > 0 || certain ? there : drawn).reverse().sort((a, b) => level(b) - level(a));
  return top && { element: front, pseudo: top.pseudo, property: 'position', value: top.style.position };
}

/** What lifts an element in front of a target: a pseudo-element of it, or the innermost element around it that is positioned. */
export function layerOf(front: Element, target: Element | undefined, at: Point | undefined): Hider {
  if (target !== undefined && isInside(target, front)) return outerLayer(front, target, at);
  const own = [...front.getClientRects()];
  const beyond = (p: Point): boolean =>
    !own.some(({ left, right, top, bottom }) => p.x >= left && p.x <= right && p.y >= top && p.y <= bottom);
  const pseudo = at !== undefined && beyond(at) ? pseudoOf(front, at, true) : undefined;
  if (pseudo !== undefined) return pseudo;
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

/** By what an element covers a target inside it: a pseudo-element, or the level of what it has the target in. */
function outerLayer(front: Element, target: Element, at: Point | undefined): Hider {
  const pseudo = pseudoOf(front, at, false);
  if (pseudo !== undefined) return pseudo;
  for (let inner: Element | null = target; inner !== null && inner !== front; inner = around(inner)) {
    const { zIndex } = getComputedStyle(inner);
    if (Number(zIndex) < 0) return { element: inner, property: 'z-index', value: zIndex };
  }
  return { element: front, property: '', value: '' };
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
  return cutWhole(tagIn(element) + (id !== '' ? `#${id}` : first !== '' ? `.${first}` : ''), 60);
}

/**
 * The first hidden element with a text, in any case: as a reader would name it, and the element itself. One that says nothing else
 * comes before all others.
 */
export function seekHidden(text: string): Found | undefined {
  let first: Found | undefined;
  const sought = folded(text).toLowerCase();
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
      const said = folded((node as Text).data);
      if (said.toLowerCase().includes(sought)) found = said;
    } else {
      if (nodeTypeOf(node) !== Node.ELEMENT_NODE) continue;
      element = node as Element;
      if (UNREAD.has(tagOf(element))) continue;
      const inner = shadowIf(element);
      for (const child of [firstChildOf(element), inner === null ? null : firstChildOf(inner)])
        if (child !== null) stack.push(child);
      for (const name of NAMING) {
        const said = folded(attribute(element, name));
        if (found === '' && said.toLowerCase().includes(sought)) found = said;
      }
    }
    if (found === '' || element === null || !isHidden(element)) continue;
    const path: Element[] = [];
    for (let at: Element | null = element; at !== null; at = around(at)) path.push(at);
    const named = actedOn(path);
    const whole = named !== null && isHidden(named) ? named : element;
    const hidden = { element: whole, name: `${tagIn(whole)} ${JSON.stringify(cutWhole(found, 60))}` };
    if (found.toLowerCase() === sought) return hidden;
    first ??= hidden;
  }
  return first;
}

interface Found {
  element: Element;
  name: string;
}

function isHidden(element: Element): boolean {
  return (
    !isShown(element, element.getBoundingClientRect()) ||
    clipperOf(element) !== undefined ||
    hushedBy(element) !== undefined
  );
}
