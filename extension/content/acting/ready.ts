/**
 * Waits until a user could act on an element: it is visible, does not move, is enabled, and a pointer at its
 * place would hit it. Waits by animation frames; nothing sleeps.
 */
import type { ActNeeds, Box, Point } from '../../messages';
import {
  RefusedCovered,
  RefusedDisabled,
  RefusedGone,
  RefusedHidden,
  RefusedMoving,
  RefusedOutside,
  RefusedPointer,
} from '../../protocol';
import { lacksSummary } from '../aria/element';
import { shadowIf } from '../aria/part';
import { imageOf } from '../aria/rendering';
import { CodeEditor } from '../code-editor';
import { attribute, has, isConnected, nodeTypeOf, parentAcrossRoots, rootOf, tagOf } from '../dom';
import { aim, contentBoxes, frameOf, isAimed, isApart, overlap } from './places';

/** Why an element cannot be acted on. */
export interface Refusal {
  refused: string;
  /** What is in front of it, and where. */
  by?: Element;
  at?: Point;
  text?: string;
}

/** Where to act, and whether something was scrolled for that. */
export interface Place {
  point: Point;
  moved: boolean;
  /** When it could not be acted on yet, and nothing had been done for that either; in ms since the epoch. */
  since: number;
}

export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer;
}

/**
 * Resolves with the place at which to act, or with the reason that held when the time was over. What `stands` is
 * known to stand still; else that takes a frame to see.
 */
export async function ready(
  element: Element,
  needs: ActNeeds,
  deadline: number,
  stands: boolean,
): Promise<Place | Refusal> {
  let before = stands && isConnected(element) ? aim(pointed(element)) : undefined;
  let since = Date.now();
  let tried = 0;
  let covered: Refusal | undefined;
  for (;;) {
    if (!isConnected(element)) return { refused: RefusedGone };
    const shown = pointed(element);
    const rect = aim(shown);
    const still = before !== undefined && same(before, rect);
    before = rect;
    let why: Refusal | undefined;
    if (!isShown(shown, rect)) why = { refused: RefusedHidden };
    else if (needs.enabled === true && isDisabled(element)) why = { refused: RefusedDisabled };
    else if (!inView(rect) && tried < 3) {
      tried++;
      scrollTo(shown, lacksSummary(shown) ? 'start' : 'center');
      before = undefined;
      why = { refused: RefusedOutside };
    } else if (!still && (needs.still === true || needs.hit === true)) why = { refused: RefusedMoving };
    else if (needs.hit !== true) return { point: middle(rect), moved: tried > 0, since };
    else {
      const hit = hittable(element, shown);
      if (!isRefusal(hit)) return { point: hit, moved: tried > 0, since };
      covered ??= hit; // where it is scrolled to, another thing may be in front of it
      why = covered;
      if (tried < 3) {
        tried++; // it may be under a bar that stays where it is, or clipped by what it scrolls in
        scrollTo(shown, tried === 1 ? 'center' : tried === 2 ? 'end' : 'start');
        before = undefined;
      }
    }
    if (performance.now() >= deadline) return why;
    if (tried === 0) since = Date.now();
    await frame();
  }
}

/** Resolves with the next frame; in a tab that draws none, a little later. */
export function frame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 100);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Resolves when the document has nothing to compute, or after some ms; in a tab that draws no frames, a little later. */
export async function idle(ms: number): Promise<void> {
  await frame();
  if (document.hidden) return;
  await new Promise((resolve) => requestIdleCallback(resolve, { timeout: ms }));
}

/** Whether the browser is moving something in the document, or in a shadow root around the element. */
export function isAnimated(element: Element): boolean {
  for (let at: Node = element; ; ) {
    const root = rootOf(at) as Document | ShadowRoot;
    if (root.getAnimations().some(({ playState }) => playState === 'running')) return true;
    if (nodeTypeOf(root) !== Node.DOCUMENT_FRAGMENT_NODE) return false;
    at = (root as ShadowRoot).host;
  }
}

function same(a: DOMRect, b: DOMRect): boolean {
  return a.left === b.left && a.top === b.top && a.width === b.width && a.height === b.height;
}

function middle({ left, top, width, height }: DOMRect): Point {
  return { x: left + width / 2, y: top + height / 2 };
}

/** What a pointer has to hit: the element, or what pages draw in its place: a label, a code editor. */
export function pointed(element: Element): Element {
  const editor = CodeEditor.of(element);
  if (editor !== undefined) return editor.root;
  const frame = frameOf(element);
  if (frame !== element && !overlap(element.getBoundingClientRect(), frame.getBoundingClientRect()))
    return frame;
  const type = tagOf(element) === 'input' ? (element as HTMLInputElement).type : '';
  if (type !== 'checkbox' && type !== 'radio' && type !== 'file') return element;
  const rect = element.getBoundingClientRect();
  if (rect.width > 2 && rect.height > 2 && isShown(element, rect) && !ignoresPointers(element))
    return element;
  for (const label of (element as HTMLInputElement).labels ?? []) {
    if (isShown(label, label.getBoundingClientRect())) return label;
  }
  return element;
}

export function isShown(element: Element, rect: DOMRect): boolean {
  const drawn = imageOf(element) ?? element; // an area has no box
  return rect.width > 0 && rect.height > 0 && drawn.checkVisibility({ visibilityProperty: true });
}

function isDisabled(element: Element): boolean {
  if (element.matches(':disabled')) return true;
  for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
    if (attribute(at, 'aria-disabled') === 'true' || has(at, 'inert')) return true;
  }
  return false;
}

function inView({ left, top, right, bottom }: DOMRect): boolean {
  const x = (left + right) / 2;
  const y = (top + bottom) / 2;
  return x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
}

function scrollTo(element: Element, block: ScrollLogicalPosition = 'center'): void {
  (imageOf(element) ?? element).scrollIntoView({ block, inline: 'center', behavior: 'instant' });
}

/** A point at which a pointer hits the element, or what is in front of it. */
function hittable(element: Element, shown: Element): Point | Refusal {
  const isOwn = lacksSummary(shown);
  const rects = (isAimed(shown) ? [aim(shown)] : [...shown.getClientRects()]).filter(
    ({ width, height }) => width > 0 && height > 0,
  );
  rects.sort((a, b) => b.width * b.height - a.width * a.height);
  let front: { by: Element; at: Point } | undefined;
  let seen = false;
  for (const rect of [...contentBoxes(shown, 1), ...rects.slice(0, 3)]) {
    const left = Math.max(rect.left, 0);
    const top = Math.max(rect.top, 0);
    const right = Math.min(rect.right, innerWidth);
    const bottom = Math.min(rect.bottom, innerHeight);
    if (right <= left || bottom <= top) continue;
    seen = true;
    for (const [fx, fy] of PLACES) {
      const point = { x: left + (right - left) * fx, y: top + (bottom - top) * fy };
      const hit = hitAt(document, point);
      if (hit !== null && (isOwn ? hit === shown : belongs(hit, element, shown))) return point;
      if (hit !== null) front ??= { by: hit, at: point };
    }
  }
  if (!seen) return { refused: RefusedOutside };
  if (ignoresPointers(shown)) return { refused: RefusedPointer };
  return { refused: RefusedCovered, ...front };
}

/** Whether a pointer hits what is behind an element instead. */
export function ignoresPointers(element: Element): boolean {
  return getComputedStyle(element).pointerEvents === 'none';
}

/** Where in an element a pointer is tried: its middle, then nearer to its corners. */
const PLACES = [
  [0.5, 0.5],
  [0.25, 0.5],
  [0.75, 0.5],
  [0.5, 0.25],
  [0.5, 0.75],
  [0.1, 0.1],
  [0.9, 0.9],
] as const;

/** The innermost element at a point, through shadow roots. */
export function hitAt(document: Document, { x, y }: Point): Element | null {
  let hit = document.elementFromPoint(x, y);
  for (;;) {
    const inner = shadowIf(hit)?.elementFromPoint(x, y) ?? null;
    if (inner === null || inner === hit) return hit;
    hit = inner;
  }
}

/** Whether the hit target is the element, is inside it or its frame, or is its label. */
export function belongs(hit: Element, element: Element, shown: Element): boolean {
  const frame = frameOf(element);
  let apart = false;
  for (let at: Element | null = hit; at !== null; at = at.assignedSlot ?? parentAcrossRoots(at)) {
    if (at === element || (!apart && (at === shown || at === frame))) return true;
    apart ||= isApart(at);
    if (tagOf(at) === 'label' && (at as HTMLLabelElement).control === element) return true;
  }
  return false;
}

/** What an iframe shows, as far as it is scrolled to: where that is in this viewport, and how it is scaled. */
function inside(iframe: HTMLIFrameElement): Box & { scaleX: number; scaleY: number } {
  const rect = iframe.getBoundingClientRect();
  const style = getComputedStyle(iframe);
  const [left, top, right, bottom] = (['Left', 'Top', 'Right', 'Bottom'] as const).map((side) =>
    Number.parseFloat(style[`padding${side}`]),
  ) as [number, number, number, number];
  const scaleX = iframe.offsetWidth === 0 ? 1 : rect.width / iframe.offsetWidth;
  const scaleY = iframe.offsetHeight === 0 ? 1 : rect.height / iframe.offsetHeight;
  const x = rect.left + (iframe.clientLeft + left) * scaleX;
  const y = rect.top + (iframe.clientTop + top) * scaleY;
  const width = (iframe.clientWidth - left - right) * scaleX;
  const height = (iframe.clientHeight - top - bottom) * scaleY;
  return { x, y, width, height, scaleX, scaleY };
}

/** The part of this viewport in which an iframe shows a part of its own. */
export function outside(iframe: Element, box: Box): Box {
  const frame = inside(iframe as HTMLIFrameElement);
  const x = Math.max(frame.x + box.x * frame.scaleX, frame.x);
  const y = Math.max(frame.y + box.y * frame.scaleY, frame.y);
  const right = Math.min(frame.x + (box.x + box.width) * frame.scaleX, frame.x + frame.width);
  const bottom = Math.min(frame.y + (box.y + box.height) * frame.scaleY, frame.y + frame.height);
  return { x, y, width: Math.max(right - x, 0), height: Math.max(bottom - y, 0) };
}

/**
 * The place in this viewport of a place in a frame's, brought into view; refused when something of this
 * document is in front of it.
 */
export async function through(
  outer: Element,
  inner: Point,
  deadline: number,
): Promise<Omit<Place, 'since'> | Refusal> {
  const iframe = outer as HTMLIFrameElement;
  let before: DOMRect | undefined;
  for (let tried = 0; ; tried++) {
    if (!isConnected(iframe)) return { refused: RefusedGone };
    const rect = iframe.getBoundingClientRect();
    if (!isShown(iframe, rect)) return { refused: RefusedHidden };
    const still = before !== undefined && same(before, rect);
    before = rect;
    const { x, y, scaleX, scaleY } = inside(iframe);
    const point = { x: x + inner.x * scaleX, y: y + inner.y * scaleY };
    let why: Refusal;
    if (point.x < 0 || point.y < 0 || point.x >= innerWidth || point.y >= innerHeight) {
      why = { refused: RefusedOutside };
      if (tried === 0) scrollTo(iframe);
      else scrollBy(point.x - innerWidth / 2, point.y - innerHeight / 2);
    } else {
      const hit = hitAt(document, point);
      if (hit === iframe && (still || tried === 0)) return { point, moved: tried > 0 };
      if (ignoresPointers(iframe)) why = { refused: RefusedPointer };
      else why = { refused: RefusedCovered, ...(hit !== null && { by: hit, at: point }) };
    }
    if (performance.now() >= deadline) return why;
    await frame();
  }
}
