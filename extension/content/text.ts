import { folded } from '../clean';
import { cutWhole } from '../cut';
import {
  attribute,
  firstChildOf,
  has,
  isElement,
  nextSiblingOf,
  nodeTypeOf,
  shadowRootOf,
  tagOf,
} from './dom';

/**
 * Cleans text, folds white space to single spaces and cuts at about `max` UTF-16 units, the last one being an ellipsis. What may
 * be a part of a secret at the cut is masked.
 */
export function fold(text: string, max: number): string {
  const line = folded(text);
  return line.length <= max ? line : `${cutWhole(line, max - 1)}…`;
}

/** Elements that begin a new line: their text does not run together with what stands before. */
export const BLOCKS = new Set(
  (
    'address article aside blockquote br button dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hr label legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
);

/**
 * Elements whose text is not what a reader sees, or is what a person typed. The latter must never
 * be read here: a name or a message is built from what the page says, not from what it was told.
 */
const UNREAD = new Set(
  'script style template noscript input textarea select datalist svg iframe object video audio canvas'.split(
    ' ',
  ),
);

/** True where an element's own markup says that it is not shown; style sheets are not asked. */
export function hiddenByMarkup(element: Element): boolean {
  if (has(element, 'hidden') || attribute(element, 'aria-hidden') === 'true') return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attribute(element, 'style'));
}

/** True for an element that the user edits as rich text. */
export function isEditingHost(element: Element): boolean {
  return (
    has(element, 'contenteditable') && !/^(?:false|inherit)$/i.test(attribute(element, 'contenteditable'))
  );
}

interface Reading {
  /** Leaves out buttons: a toast is its message, not its "Dismiss". */
  buttons: boolean;
  /** Takes the alternative text of images, as accessible names do. */
  images: boolean;
}

/**
 * The text of an element as a reader would see it, white space folded, at most `max` units: through
 * open shadow roots, without hidden parts, and without anything a person typed.
 */
export function readText(element: Element, max: number, reading: Partial<Reading> = {}): string {
  const { buttons = true, images = false } = reading;
  const parts: string[] = [];
  // Three times the wanted length is enough, however white space folds; a huge subtree is not walked.
  let budget = max * 3 + 200;

  const walk = (parent: Node): void => {
    for (let node = firstChildOf(parent); node !== null && budget > 0; node = nextSiblingOf(node)) {
      if (nodeTypeOf(node) === Node.TEXT_NODE) {
        const data = (node as Text).data;
        parts.push(data.length > budget ? data.slice(0, budget) : data);
        budget -= data.length;
      } else if (isElement(node)) {
        enter(node);
      }
    }
  };
  const enter = (child: Element): void => {
    const tag = tagOf(child);
    if (tag === 'img') {
      if (images) parts.push(' ', attribute(child, 'alt'), ' ');
      return;
    }
    if (UNREAD.has(tag) || hiddenByMarkup(child) || isEditingHost(child)) return;
    if (!buttons && (tag === 'button' || attribute(child, 'role') === 'button')) return;
    const block = BLOCKS.has(tag);
    if (block) parts.push(' ');
    const shadow = shadowRootOf(child);
    if (shadow !== null) walk(shadow);
    walk(child);
    if (block) parts.push(' ');
  };

  const shadow = shadowRootOf(element);
  if (shadow !== null) walk(shadow);
  walk(element);
  return fold(parts.join(''), max);
}
