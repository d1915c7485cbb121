/** The elements and runs of text of which a tree is made, and what is asked of the page about one of them. */
import type { AriaNode } from '../../protocol';
import { attribute, first, firstChildOf, has, nextSiblingOf, nodeTypeOf, rootOf, tagOf } from '../dom';
import { type Facts, INTERACTIVE } from './element';
import { hasBox, imageOf, isPlainlyShown, shadowOf } from './rendering';

/** How an element is shown: with what it contains, not itself, or not with anything that it contains. */
export type Shown = 'shown' | 'itself hidden' | 'hidden';

/** An element. */
export class Part {
  readonly element: Element;
  readonly id: number;
  readonly tag: string;
  parent: Part | undefined;
  /** The number of its ancestors. */
  depth = 0;
  kids: (Part | Text)[] = [];
  facts: Facts;
  shown: Shown = 'shown';
  block = false;
  pointer = false;
  /** A pointer hits what is behind it. */
  unhit = false;
  /** What of a control was read that changes without a trace. */
  traceless = '';
  /** Inside a form whose names are taken over, or very deep: the library cannot read it. */
  disturbed = false;
  shadow: ShadowRoot | null = null;
  /** It may get a shadow root yet. */
  mayGrow = false;
  /** Neither it nor what is inside it can be operated. */
  inert = false;
  /** What it says is hidden, as in closed details, though it is shown itself. */
  contentHidden = false;
  /** Of what is inside it only what is operable has a line: the rest is its name or its value. */
  hushes = false;
  /** It stands in one that hushes. */
  hushed = false;
  /** It has a run of text of its own. */
  hasText = false;
  /** How many of its children are of one kind that the items of lists are, up to as many as are a list. */
  repeats = 0;
  /** Several of its children are pictures. */
  pictured = false;
  /** Whether it is shown is asked of the browser at each look. */
  asked = false;
  /** What stands in it and is asked: while that is shown, so is the part. */
  witness: Part | undefined;
  /** What style sheets write before and after what it contains, as nodes that stand in no document. */
  readonly generated: [before: Text | undefined, after: Text | undefined] = [undefined, undefined];
  /** How many elements in it were not read because there are too many. */
  left = 0;
  /** An id that is to name it is not there yet. */
  waits = false;
  textId: number | undefined;
  /** Its content while it has no line of its own; undefined if unknown. */
  gathered: Gathered[] | undefined;
  /** Its content must be listed again. */
  unlisted = true;
  /** Its children in the accessibility tree. */
  flat: (Part | Segment)[] = [];
  /** How blocks without a line divide `flat`, and what the page calls them: see {@link AriaNode.g}. */
  shape = '';
  shapeKeys: readonly string[] = [];
  /** The version of the tree in which it changed last. */
  version = 0;
  /** The last look that found it in the tree. */
  look = 0;
  /** What it draws is the value of a field elsewhere. */
  drawn = false;
  live = true;
  staleSelf = true;
  staleKids = true;

  constructor(element: Element, id: number) {
    this.element = element;
    this.id = id;
    this.tag = tagOf(element);
    this.facts = TRANSPARENT;
  }
}

export const TRANSPARENT: Facts = {
  role: '',
  name: '',
  description: '',
  value: undefined,
  states: [],
  keys: '',
  cut: undefined,
};

/** A run of text on its own. */
export interface Segment {
  readonly id: number;
  text: string;
  /** The text as names say it, without the marks of words that only stand higher or lower. */
  named: string;
  cut: number[] | undefined;
  version: number;
  look: number;
}

/** Where a block without a line begins, with the attributes by which the page knows it, and where it ends. */
export type Edge = { readonly opens: Part } | 'closes';

/** The collected content of a block, and the edges of blocks inside it. */
export type Gathered = Part | Segment | Edge;

export function isPart(item: Part | Text | Gathered): item is Part {
  return item instanceof Part;
}

/** The label that a part stands in, without anything in between that has a line. */
export function labelAround(part: Part): Part | undefined {
  for (let at = part.parent; at !== undefined && at.facts.role === ''; at = at.parent) {
    if (at.tag === 'label') return at;
  }
  return undefined;
}

/** Whether a part has one run of text at most, as far as its own nodes say. */
export function isOnlyText({ kids }: Part): boolean {
  let texts = 0;
  let parts = 0;
  for (const kid of kids) {
    if (isPart(kid)) parts++;
    else if (kid.data.trim() !== '') texts++;
    if (texts > 1 && parts > 0) return false;
  }
  return true;
}

export function textNode({ id, text, cut }: Segment): AriaNode {
  return { i: id, r: 'text', n: text, ...(cut !== undefined && { x: cut }) };
}

export function sameFacts(a: Facts, b: Facts): boolean {
  return (
    a.role === b.role &&
    a.name === b.name &&
    a.description === b.description &&
    a.value === b.value &&
    a.keys === b.keys &&
    a.states.join() === b.states.join() &&
    a.cut?.join() === b.cut?.join()
  );
}

/** How an element is shown now. */
export function shownAs({ element, tag, parent, inert, drawn }: Part): Shown {
  if (drawn || attribute(element, 'aria-hidden') === 'true') return 'hidden';
  // A modal dialog works anywhere. Of everything else in it nothing is shown but that it is there.
  if (inert && first(element, 'dialog:modal') !== null) return 'itself hidden';
  if (inert) return parent !== undefined && !parent.inert && isPlainlyShown(element) ? 'shown' : 'hidden';
  if (isPlainlyShown(element)) return 'shown';
  if (tag === 'area') return imageOf(element) !== undefined ? 'shown' : 'hidden';
  if (parent?.contentHidden === true) return 'hidden';
  if (tag === 'option' || tag === 'optgroup')
    // of which a closed list shows none
    return has(element, 'hidden') || parent?.shown === 'itself hidden' ? 'hidden' : 'shown';
  if (parent === undefined) return 'shown';
  const { display, visibility } = getComputedStyle(element);
  if (display === 'contents') return visibility === 'visible' ? 'shown' : 'itself hidden';
  return hasBox(element) ? 'itself hidden' : 'hidden';
}

const HOSTS = new Set(
  'article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '),
);

/** Whether an element of this tag can have a shadow root. */
export function canGrow(tag: string): boolean {
  return HOSTS.has(tag) || tag.includes('-');
}

/** Elements with built-in controls that are not elements of the page. */
const MEDIA = new Set(['video', 'audio']);

/** True for what looks operable and says so by nothing else: it takes focus, or the pointer's shape changes on it. */
export function isClickable(part: Part): boolean {
  const { element, tag, parent } = part;
  if (tag === 'html' || tag === 'body' || tag === 'option') return false;
  if (tag === 'label') return standsForHidden(element as HTMLLabelElement);
  if (has(element, 'onclick') || (MEDIA.has(tag) && has(element, 'controls'))) return true;
  if (has(element, 'tabindex') && Number(attribute(element, 'tabindex')) >= 0) return true;
  if (isSortable(part)) return true;
  if (parent === undefined || parent.pointer || !(part.pointer || isLinkOfAScript(part))) return false;
  for (let at: Part | undefined = parent; at !== undefined; at = at.parent) {
    const operates = INTERACTIVE.has(at.facts.role) && at.facts.role !== 'combobox' && !isExpander(part, at);
    if (operates || at.tag === 'label') return false;
  }
  return true;
}

/** Whether an element is the icon that opens a tree item, which itself may only be selected by a click. */
function isExpander({ element }: Part, item: Part): boolean {
  return (
    item.facts.role === 'treeitem' &&
    has(item.element, 'aria-expanded') &&
    (element.textContent ?? '').trim() === ''
  );
}

/** Whether a header says how its column is sorted, and nothing in it changes that: it does so itself. */
function isSortable({ element, facts }: Part): boolean {
  return (
    /^(?:column|row)header$/.test(facts.role) && has(element, 'aria-sort') && first(element, SORTING) === null
  );
}

const SORTING = 'a[href], button, input, select, [role=button], [role=link], [tabindex]';

/** Whether a link leads nowhere, and is neither a target of others nor the entry for what is shown already. */
function isLinkOfAScript({ element, tag }: Part): boolean {
  if (tag !== 'a' || firstChildOf(element) === null) return false;
  return !['href', 'name', 'id', 'aria-current', 'aria-disabled'].some((name) => has(element, name));
}

/** Whether a label is what is operated, because its field, drawn in another way, is not shown itself. */
function standsForHidden({ control }: HTMLLabelElement): boolean {
  return control !== null && !isPlainlyShown(control);
}

export function shadowIf(element: Element | null): ShadowRoot | null {
  return element === null ? null : shadowOf(element);
}

export function hostOf(element: Element): Element | null {
  const root = rootOf(element);
  return nodeTypeOf(root) === Node.DOCUMENT_FRAGMENT_NODE && 'host' in root
    ? (root as ShadowRoot).host
    : null;
}

/** The nodes that are shown inside an element. */
export function* childrenOf({ element, tag, shadow }: Part): Iterable<Node> {
  if (shadow === null && tag === 'slot') {
    const assigned = (element as HTMLSlotElement).assignedNodes();
    if (assigned.length > 0) {
      yield* assigned;
      return;
    }
  }
  for (let node = firstChildOf(shadow ?? element); node !== null; node = nextSiblingOf(node)) yield node;
}
