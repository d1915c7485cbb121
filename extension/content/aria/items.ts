/**
 * Blocks without a role that look like the items of a list. A script may listen to clicks on them without a
 * sign of it, so each has a line: with a reference, though a listing of what is operable only counts it.
 */
import { first, has, isLarger } from '../dom';
import {
  type Facts,
  fold,
  INTERACTIVE,
  isLive,
  readGeneric,
  readItem,
  readNamed,
  type Surroundings,
} from './element';
import { isClickable, isPart, type Part } from './part';

/** How many blocks of one kind are a list. */
const LEAST = 3;

/** The longest text of an item, in characters, and the most elements in it. More is prose, or a part of the page. */
const MAX_ITEM = 500;
const MAX_PARTS = 60;

/** Roles in which blocks are no part of something that has a reference already. */
const AROUND = new Set(
  (
    'document main navigation banner contentinfo complementary region search form group dialog alertdialog ' +
    'tabpanel application'
  ).split(' '),
);

/** What has lines of its own, by which an item is known and operated. */
const LISTED =
  'a, button, input, select, textarea, summary, label, iframe, object, video, audio, canvas, h1, h2, h3, h4, ' +
  'h5, h6, ul, ol, dl, table, article, nav, main, header, footer, aside, form, pre, [tabindex], [onclick], ' +
  '[contenteditable], [aria-live], [aria-label], [role]:not([role=img], [role=none], [role=presentation])';

/** Reads what an element's line has from where it stands: that it takes clicks, or that it is an item. */
export function readAround(part: Part, surroundings: Surroundings): void {
  if (part.facts.role === '') part.facts = readRoleless(part, surroundings);
  else if (!INTERACTIVE.has(part.facts.role) && isClickable(part) && !part.facts.states.includes('clickable'))
    part.facts.states.push('clickable');
}

/** Reads the line of an element without a role. */
function readRoleless(part: Part, surroundings: Surroundings): Facts {
  const { element, tag } = part;
  if (isClickable(part) || isLive(element)) return readGeneric(element, tag, surroundings);
  const named = readNamed(element, tag, surroundings);
  return named.role === '' && isItem(part) ? readItem(element, tag) : named;
}

/** Whether several of an element's children are of a kind that items are. */
export function repeats(kids: readonly (Part | Text)[]): boolean {
  const count = new Map<string, number>();
  for (const kid of kids) {
    if (!isPart(kid) || !isItemTag(kid.tag)) continue;
    const so = (count.get(kid.tag) ?? 0) + 1;
    if (so >= LEAST) return true;
    count.set(kid.tag, so);
  }
  return false;
}

/** Whether a part may be an item: the rest depends on what is in it and around it. */
export function mayBeItem({ tag, parent }: Part): boolean {
  return parent?.repeats === true && isItemTag(tag);
}

/** Whether a part without a role is an item. */
function isItem(part: Part): boolean {
  if (!part.block || part.hushed || !mayBeItem(part) || !standsFree(part)) return false;
  const { element } = part;
  if (isLarger(element, MAX_PARTS) || first(element, LISTED) !== null) return false;
  const length = fold(element.textContent ?? '').length;
  return length === 0 ? first(element, 'img[alt], svg > title') !== null : length <= MAX_ITEM;
}

function standsFree({ parent }: Part): boolean {
  let at = parent;
  for (; at !== undefined && at.facts.role === ''; at = at.parent) if (at.tag === 'label') return false;
  return at === undefined || (AROUND.has(at.facts.role) && !has(at.element, 'onclick'));
}

function isItemTag(tag: string): boolean {
  return tag === 'div' || tag === 'section' || tag.includes('-');
}
