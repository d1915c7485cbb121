/**
 * Blocks without a role that look like the items of a list. A script may listen to clicks on them without a
 * sign of it, so each has a line: with a reference, though a listing of what is operable only counts it.
 */
import { isAroundCode } from '../code-editor';
import { all, attribute, childCountOf, first, has, isLarger, tagOf } from '../dom';
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

/** A list of options has no other content, so that a block in it is one: such as to add what was typed. */
const OPTIONS = 'listbox';

/** How many blocks of one kind are a list. */
const LEAST = 3;
/** Two are if they are made alike: pages have columns, and names beside values, too. */
const TWO = 2;

/** The longest text of an item, in characters, and the most elements in it. More is prose, or a part of the page. */
const MAX_ITEM = 500;
const MAX_PARTS = 60;
/** The longest text of one of two, or of one alone among options. */
const MAX_TWIN = 120;

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
  return named.role === '' && isItem(part) && !isAroundCode(element) ? readItem(element, tag) : named;
}

/** How many of an element's children are of one kind that items are, up to as many as are a list; 0 for a single one. */
export function repeats(kids: readonly (Part | Text)[]): number {
  const count = new Map<string, number>();
  let most = 0;
  for (const kid of kids) {
    if (!isPart(kid) || !isItemTag(kid.tag)) continue;
    const so = (count.get(kid.tag) ?? 0) + 1;
    if (so >= LEAST) return so;
    if (so >= TWO) most = so;
    count.set(kid.tag, so);
  }
  return most;
}

/** Whether so many of an element's children are pictures that they are a list. */
export function isPictured(kids: readonly (Part | Text)[]): boolean {
  let count = 0;
  for (const kid of kids) if (isPart(kid) && kid.tag === 'img' && ++count === LEAST) return true;
  return false;
}

/** Whether a part may be an item: the rest depends on what is in it and around it. */
export function mayBeItem({ tag, parent }: Part): boolean {
  return parent !== undefined && isItemTag(tag) && (parent.repeats > 0 || parent.facts.role === OPTIONS);
}

/** The other one where a part is one of two that may be items. */
export function twinOf(part: Part): Part | undefined {
  if (part.parent?.repeats !== TWO || !isItemTag(part.tag)) return undefined;
  for (const kid of part.parent.kids) if (isPart(kid) && kid !== part && kid.tag === part.tag) return kid;
  return undefined;
}

/** Whether a part without a role is an item. */
function isItem(part: Part): boolean {
  const { element, parent } = part;
  const isOption = parent?.facts.role === OPTIONS;
  if (!part.block || part.hushed || !mayBeItem(part) || !(isOption || standsFree(part))) return false;
  if (isLarger(element, MAX_PARTS) || first(element, LISTED) !== null || holdsItems(element)) return false;
  const length = fold(element.textContent ?? '').length;
  if (isOption) return length > 0 && length <= MAX_TWIN;
  if (parent?.repeats === TWO) return length > 0 && length <= MAX_TWIN && isLikeItsTwin(part);
  return length === 0 ? first(element, 'img[alt], svg > title') !== null : length <= MAX_ITEM;
}

/** Whether the items are in an element: what they are in is then none. The cells of a row are no items. */
function holdsItems(element: Element): boolean {
  if (isListOfLike(element) && !isOneOfRows(element)) return true;
  for (const inner of all(element, '*')) if (isListOfLike(inner)) return true;
  return false;
}

/** Whether the blocks that an element consists of are alike. */
function isListOfLike(element: Element): boolean {
  const first = childCountOf(element) < LEAST ? null : element.firstElementChild;
  if (first === null || !isItemTag(tagOf(first))) return false;
  const kind = kindOf(first);
  for (let item: Element | null = first; item !== null; item = item.nextElementSibling)
    if (kindOf(item) !== kind || fold(item.textContent ?? '') === '') return false;
  return true;
}

/** Whether those beside an element are made as it is. */
function isOneOfRows(element: Element): boolean {
  const isLike = (other: Element | null): boolean =>
    other !== null &&
    kindOf(other) === kindOf(element) &&
    other.childElementCount === element.childElementCount;
  return isLike(element.previousElementSibling) || isLike(element.nextElementSibling);
}

/** Whether one of two has several elements in it, and the other one the same: by their tags, and the first of their classes. */
function isLikeItsTwin(part: Part): boolean {
  const twin = twinOf(part)?.element;
  if (twin === undefined || kindOf(twin) !== kindOf(part.element)) return false;
  const mine = [...all(part.element, '*')];
  const others = [...all(twin, '*')];
  return mine.length > 1 && mine.map(kindOf).join() === others.map(kindOf).join();
}

function kindOf(element: Element): string {
  return `${tagOf(element)} ${attribute(element, 'class').trim().split(/\s/, 1)[0]}`;
}

function standsFree({ parent }: Part): boolean {
  let at = parent;
  for (; at !== undefined && at.facts.role === ''; at = at.parent) if (at.tag === 'label') return false;
  if (at === undefined) return true;
  if (at.facts.role === 'generic') return scrolls(parent, at);
  return AROUND.has(at.facts.role) && !has(at.element, 'onclick');
}

/** Whether what stands between two parts, both included, scrolls: it holds a list then, and is no card. */
function scrolls(from: Part | undefined, to: Part): boolean {
  for (let at = from; at !== undefined; at = at === to ? undefined : at.parent)
    if (/auto|scroll/.test(getComputedStyle(at.element).overflowY)) return true;
  return false;
}

function isItemTag(tag: string): boolean {
  return tag === 'div' || tag === 'section' || tag.includes('-');
}
