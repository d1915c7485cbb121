/** Where a pointer hits what has no box of its own, or is drawn by something else. */
import { lacksSummary } from '../aria/element';
import { imageOf } from '../aria/rendering';
import { all, attribute, first, has, matches, parentAcrossRoots, tagOf } from '../dom';

/** How far around a combobox's field its frame is looked for, and how high that is at most, in CSS pixels. */
const MAX_LEVELS = 5;
const MAX_HEIGHT = 80;

/** What is operated by itself, or names something: what it stands in is more than the frame of one field. */
const OTHERS =
  'a[href], input:not([type=hidden], [aria-hidden=true]), select, textarea, label, h1, h2, h3, h4, h5, h6, [tabindex]:not(button, [role=button], [aria-hidden=true]), [contenteditable]';
/** What takes what was chosen away again, beside the field. */
const BUTTONS = 'button, [role=button]';

/**
 * What is drawn around the field of a combobox, and answers to a pointer as it does: libraries draw the chosen value over
 * the field, move the field away, or let no pointer through to it. Another element is its own frame.
 */
export function frameOf(field: Element): Element {
  if (tagOf(field) !== 'input' || attribute(field, 'role') !== 'combobox') return field;
  let frame = field;
  for (let i = 0; i < MAX_LEVELS; i++) {
    const outer = parentAcrossRoots(frame);
    if (outer === null || outer.getBoundingClientRect().height > MAX_HEIGHT) return frame;
    for (const other of all(outer, OTHERS)) if (other !== field) return frame;
    frame = outer;
  }
  return frame;
}

/** Whether an element in the frame of a field is operated apart from it. */
export function isApart(element: Element): boolean {
  return matches(element, BUTTONS);
}

/** Blocks of the page's, in which a script may listen to a part alone. */
const BLOCK = /^(?:li|div|section|article|dt|dd|td|th|tr|figure)$|-/;
const OPERATED = 'a, button, input, select, textarea, summary, iframe, [role], [tabindex], [onclick]';

/**
 * The boxes in which a block without a role has its content, if nothing in it is operated by itself: its middle may be beside what
 * listens to clicks. At most so many.
 */
export function contentBoxes(block: Element, most: number): DOMRect[] {
  if (!BLOCK.test(tagOf(block)) || has(block, 'role') || first(block, OPERATED) !== null) return [];
  const content = document.createRange();
  content.selectNodeContents(block);
  return [...content.getClientRects()].filter(({ width, height }) => width > 0 && height > 0).slice(0, most);
}

/** Whether a part of one box is in another. */
export function overlap(a: DOMRect, b: DOMRect): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Whether a pointer has to hit {@link aim} of an element instead of any of its boxes. */
export function isAimed(element: Element): boolean {
  return lacksSummary(element) || imageOf(element) !== undefined;
}

/**
 * Where a pointer has to hit an element: of details without a summary, the line in which the browser draws its own; of an
 * area, the part of the picture.
 */
export function aim(element: Element): DOMRect {
  const image = imageOf(element);
  if (image !== undefined) return areaIn(image, element);
  const rect = element.getBoundingClientRect();
  if (!lacksSummary(element)) return rect;
  const { paddingLeft, paddingRight, paddingTop, lineHeight, fontSize } = getComputedStyle(element);
  const left = rect.left + element.clientLeft + Number.parseFloat(paddingLeft);
  const right = rect.left + element.clientLeft + element.clientWidth - Number.parseFloat(paddingRight);
  const top = rect.top + element.clientTop + Number.parseFloat(paddingTop);
  const height = Number.parseFloat(lineHeight) || Number.parseFloat(fontSize);
  return new DOMRect(left, top, right - left, height);
}

/** The box around an area of an image, as HTML has its shapes. */
function areaIn(image: Element, area: Element): DOMRect {
  const rect = image.getBoundingClientRect();
  const { paddingLeft, paddingTop } = getComputedStyle(image);
  const left = rect.left + image.clientLeft + Number.parseFloat(paddingLeft);
  const top = rect.top + image.clientTop + Number.parseFloat(paddingTop);
  const shape = attribute(area, 'shape').toLowerCase();
  if (shape === 'default') return rect;
  const [x = 0, y = 0, ...rest] = attribute(area, 'coords')
    .split(/[\s,;]+/, 1000)
    .map(Number);
  if (shape.startsWith('circ')) {
    const [radius = 0] = rest;
    return new DOMRect(left + x - radius, top + y - radius, 2 * radius, 2 * radius);
  }
  const xs = [x, ...rest.filter((_, i) => i % 2 === 0)];
  const ys = [y, ...rest.filter((_, i) => i % 2 === 1)];
  const from = { x: Math.min(...xs), y: Math.min(...ys) };
  return new DOMRect(left + from.x, top + from.y, Math.max(...xs) - from.x, Math.max(...ys) - from.y);
}
