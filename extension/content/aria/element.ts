/** What one element says of itself in the accessibility tree. */

import {
  getAriaChecked,
  getAriaDisabled,
  getAriaExpanded,
  getAriaInvalid,
  getAriaPressed,
  getAriaRole,
  getAriaSelected,
  getElementAccessibleDescription,
  getElementAccessibleName,
} from 'ivya/utils';
import { folded } from '../../clean';
import { cutWhole } from '../../cut';
import { accessibleName, roleOf } from '../accessible-name';
import { CodeEditor } from '../code-editor';
import {
  addressOf,
  attribute,
  closest,
  first,
  firstChildOf,
  has,
  matches,
  nextSiblingOf,
  nodeTypeOf,
  parentOf,
  rootOf,
  tagOf,
} from '../dom';
import type { SensitiveFields } from '../sensitive/fields';
import { isEditingHost } from '../text';
import { drawnBeside, isTyped, shownValue, writtenText } from './editor';
import { isCustom, readInternals } from './internals';
import type { Labels } from './labels';
import { markOf } from './marks';
import { pictureOf } from './pictures';
import { showsFallback } from './rendering';
import { showsFrame } from './slots';

/** The maximum length of a reported name, text or value, in UTF-16 units; longer ones add their length. */
export const MAX_TEXT = 1000;

/** Where a name or value was cut: its full length, and a number that changes with what was cut off. */
export type Cut = [length: number, hash: number];

/** An element's line in the tree. A role of "" means that it is transparent: only what it contains counts. */
export interface Facts {
  role: string;
  name: string;
  description: string;
  value: string | undefined;
  states: string[];
  keys: string;
  cut: number[] | undefined;
}

/**
 * Roles that say how words look, or repeat what the tree's shape says already. Their text is kept, as
 * part of what they stand in.
 */
const TRANSPARENT = new Set(
  (
    'none presentation generic paragraph strong emphasis code mark subscript superscript insertion deletion time ' +
    'rowgroup suggestion'
  ).split(' '),
);

/** What has no role in ARIA, and shows what no element of the page says. */
const DRAWN = new Set(['audio', 'canvas', 'video']);

/** Roles whose name is what they contain, unless an author says otherwise. */
const NAMED_BY_CONTENT = new Set(
  (
    'button checkbox columnheader heading link menuitem menuitemcheckbox menuitemradio option radio rowheader ' +
    'switch tab tooltip treeitem doc-backlink doc-biblioref doc-glossref doc-noteref'
  ).split(' '),
);

/** Tags that give other roles a name by themselves, such as a table by its caption. */
const NAMED_BY_TAG = new Set(
  'area details fieldset figure iframe img input meter optgroup output progress select svg table textarea'.split(
    ' ',
  ),
);

/** Roles of interactive elements. */
export const INTERACTIVE = new Set(
  (
    'button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox ' +
    'slider spinbutton switch tab textbox treeitem doc-backlink doc-biblioref doc-glossref doc-noteref'
  ).split(' '),
);

/** Roles without parts of their own: what is inside them is their name. */
export const LEAVES = new Set('checkbox img meter progressbar radio scrollbar slider switch'.split(' '));

const CHECKABLE = new Set('checkbox menuitemcheckbox menuitemradio option radio switch treeitem'.split(' '));
const SELECTABLE = new Set('gridcell option row tab columnheader rowheader treeitem'.split(' '));
const EXPANDABLE = new Set(
  (
    'application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem columnheader ' +
    'menuitemcheckbox menuitemradio switch group'
  ).split(' '),
);
const FIELDS = new Set(
  'combobox listbox searchbox separator slider spinbutton textbox scrollbar meter progressbar'.split(' '),
);

export function isNamedByContent(role: string): boolean {
  return NAMED_BY_CONTENT.has(role);
}

const CONTROLS = new Set('input textarea select option progress object embed'.split(' '));

/** True for a control whose state can change without a trace in the tree of nodes. */
export function isControl(tag: string): boolean {
  return CONTROLS.has(tag) || isCustom(tag);
}

/** All that can change in a control without a trace, in one string: to see whether it has to be read again. */
export function traceless(element: Element, tag: string): string {
  if (isCustom(tag)) return readInternals(element);
  const holds = heldBy(element, tag);
  return isBound(element) && isRefused(element) ? `${holds} refused` : holds;
}

function heldBy(element: Element, tag: string): string {
  switch (tag) {
    case 'input': {
      const { type } = element as HTMLInputElement;
      // What such a box would be sent as is an attribute.
      if (type !== 'checkbox' && type !== 'radio')
        // no value has a line break
        return String((element as HTMLInputElement).value) || `\n${drawnBeside(element)}`;
      const { checked, indeterminate } = element as HTMLInputElement;
      return indeterminate ? 'indeterminate' : String(checked);
    }
    case 'select': {
      const { selectedIndex, length, selectedOptions } = element as HTMLSelectElement;
      return `${selectedIndex} ${length} ${selectedOptions.length}`;
    }
    case 'object':
    case 'embed':
      return `${String(showsFrame(element, tag))} ${String(showsFallback(element))}`;
    case 'option':
      return String((element as HTMLOptionElement).selected);
    default:
      return String((element as HTMLTextAreaElement).value);
  }
}

/**
 * True for a form of which a field has taken over a name that the library reads (`<input
 * name="parentElement">`): below it only reads that such a form cannot disturb are safe.
 */
export function isDisturbed(form: Element): boolean {
  const own = form as unknown as Record<string, unknown>;
  return DISTURBING.some((name) => {
    const value = own[name];
    return (
      value !== null &&
      typeof value === 'object' &&
      (value as Element).nodeType === 1 &&
      isPartOf(form, value)
    );
  });
}

const DISTURBING =
  'parentElement parentNode nodeName tagName getAttribute hasAttribute shadowRoot ownerDocument'.split(' ');

function isPartOf(form: Element, value: object): boolean {
  const tag = tagOf(value as Element);
  return (
    Node.prototype.contains.call(form, value as Node) &&
    /^(?:input|button|select|textarea|img|output|object|fieldset)$/.test(tag)
  );
}

/** What reading an element needs to know of its surroundings. */
export interface Surroundings {
  /** The library cannot be trusted with it: see {@link isDisturbed}. */
  disturbed: boolean;
  /** The labels of a field. */
  labels: Labels;
  sensitive: SensitiveFields;
  mask: string;
}

/** Reads an element's line. */
export function read(element: Element, { disturbed, labels, sensitive, mask }: Surroundings): Facts {
  const tag = tagOf(element);
  const role = plainRole(element, tag, disturbed);
  if (role === '') return none();
  const cut: number[] = [];
  const name = shorten(nameOf(element, tag, role, disturbed, labels), cut, 0);
  const code = role === 'textbox' ? CodeEditor.of(element)?.drawn() : undefined;
  const value = fieldText(element, tag, role, sensitive, mask, code?.text);
  const states = statesOf(element, tag, role, disturbed);
  const lines = linesOf(element, value, code?.lines);
  if (lines !== '') states.push(`lines=${lines}`);
  return {
    role,
    name,
    description: descriptionOf(element, tag, name, disturbed),
    value: value === undefined ? undefined : shorten(value, cut, 2),
    states,
    keys: keysOf(element, tag),
    cut: cut.length > 0 ? Array.from({ length: 4 }, (_, i) => cut[i] ?? 0) : undefined,
  };
}

function plainRole(element: Element, tag: string, disturbed: boolean): string {
  if (showsFrame(element, tag)) return 'iframe';
  if (tag === 'html') return 'document';
  const role = disturbed ? roleOf(element) : (getAriaRole(element) ?? '');
  if ((tag === 'label' || tag === 'legend') && !has(element, 'role')) return '';
  if (tag === 'th' && (role === 'cell' || role === 'gridcell') && !has(element, 'role'))
    return headerRole(element);
  if (role === 'label' || role === 'date' || role === 'color') return role === 'label' ? '' : 'textbox';
  if (role === 'rowgroup' && (has(element, 'tabindex') || isLabelled(element))) return role;
  if (role === '' || TRANSPARENT.has(role)) {
    if (isEditingHost(element)) return 'textbox';
    // Native controls without a role in ARIA: dates, colours, files, passwords.
    if (tag === 'input') {
      const { type } = element as HTMLInputElement;
      return type === 'hidden' ? '' : type === 'file' || type === 'color' ? 'button' : 'textbox';
    }
    if (tag === 'summary') return opensDetails(element) ? 'button' : '';
    return DRAWN.has(tag) ? tag : '';
  }
  return role;
}

/** Whether a summary is the one that opens its details. */
function opensDetails(summary: Element): boolean {
  const details = parentOf(summary);
  return details !== null && tagOf(details) === 'details' && first(details, ':scope > summary') === summary;
}

/** Whether the browser draws a control of its own, by which details are opened. */
export function lacksSummary(details: Element, tag = tagOf(details)): boolean {
  return tag === 'details' && first(details, ':scope > summary') === null;
}

/** Whether an author wrote a name on an element. Browsers know both spellings of the second attribute. */
function isLabelled(element: Element): boolean {
  return has(element, 'aria-label') || has(element, 'aria-labelledby') || has(element, 'aria-labeledby');
}

/** Whether an element is a part of a drawing with a title of its own. */
function isTitled(element: Element): boolean {
  if (!(element instanceof SVGElement)) return false;
  for (let node = firstChildOf(element); node !== null; node = nextSiblingOf(node))
    if (nodeTypeOf(node) === Node.ELEMENT_NODE && tagOf(node as Element) === 'title') return true;
  return false;
}

/** A header cell without a scope heads its row if data is beside it, else its column. */
function headerRole(cell: Element): string {
  const beside = [cell.previousElementSibling, cell.nextElementSibling];
  const isData = (other: Element | null): boolean =>
    other !== null &&
    tagOf(other) === 'td' &&
    (other.children.length > 0 || fold(other.textContent ?? '') !== '');
  return beside.some(isData) ? 'rowheader' : 'columnheader';
}

function nameOf(element: Element, tag: string, role: string, disturbed: boolean, labels: Labels): string {
  if (tag === 'html') return '';
  const labelled =
    isLabelled(element) ||
    (has(element, 'title') && role !== 'cell') ||
    (FIELDS.has(role) && has(element, 'aria-placeholder')) ||
    (role === 'img' && first(element, ':scope > title') !== null);
  if (!labelled && !NAMED_BY_CONTENT.has(role) && !NAMED_BY_TAG.has(tag)) return '';
  if (disturbed) return fold(accessibleName(element, role));
  if ((tag === 'option' || tag === 'optgroup') && has(element, 'label') && !has(element, 'aria-label'))
    return fold(attribute(element, 'label'));
  if (tag === 'area') return fold(accessibleName(element, role)); // it has no box: the library takes it for hidden
  const name = ownName(element, labels);
  // A title has the library name a cell by what it contains, which is its text already.
  if ((role === 'gridcell' || role === 'row') && has(element, 'title') && isAllOf(element, name)) return '';
  // A list that is not open has no box: whatever a style sheet says of its options, they are listed.
  if (name === '' && tag === 'option') return fold((element as HTMLOptionElement).label);
  return name === '' && lacksSummary(element, tag) ? 'Details' : name;
}

/** Whether a text is what an element contains, but for the spaces between its parts. */
function isAllOf(element: Element, text: string): boolean {
  return text.replaceAll(' ', '') === fold(element.textContent ?? '').replaceAll(' ', '');
}

function ownName(element: Element, labels: Labels): string {
  return fold(labels.during(element, () => getElementAccessibleName(element, false)));
}

function descriptionOf(element: Element, tag: string, name: string, disturbed: boolean): string {
  const described =
    has(element, 'aria-describedby') ||
    has(element, 'aria-description') ||
    has(element, 'title') ||
    (tag === 'svg' && first(element, ':scope > desc') !== null);
  const failed = has(element, 'aria-errormessage') && getAriaInvalid(element) !== 'false';
  const hint = tag === 'input' || tag === 'textarea' ? fold(attribute(element, 'placeholder')) : '';
  if (disturbed || (!described && !failed && hint === '')) return '';
  const said = fold(getElementAccessibleDescription(element, false));
  const text = said === name ? hint || said : said || hint;
  const repeats = text === name || (name === '' && has(element, 'title') && isAllOf(element, text));
  return repeats ? '' : cutWhole(text, MAX_TEXT);
}

function fieldText(
  element: Element,
  tag: string,
  role: string,
  sensitive: SensitiveFields,
  mask: string,
  drawn: string | undefined,
): string | undefined {
  const { type, files } = element as HTMLInputElement;
  if (tag === 'input' && type === 'file') return Array.from(files ?? [], (file) => file.name).join(', ');
  const edited = isEditingHost(element) && !NAMED_BY_CONTENT.has(role);
  if (!FIELDS.has(role) && !edited && !isTyped(tag, type)) return undefined;
  const text = drawn ?? rawValue(element, tag, role);
  if (text === undefined || text === '') return text;
  return sensitive.has(element as HTMLElement) ? mask : text;
}

/** How many characters of a value a listing shows. */
const SHOWN = 200;

/** Which lines of an editor's text are its value, or how many there are, where the value does not show that. */
function linesOf(element: Element, value: string | undefined, drawn: string | undefined): string {
  const hasLines = drawn !== undefined || tagOf(element) === 'textarea' || isEditingHost(element);
  if (value === undefined || !hasLines) return '';
  const lines = drawn ?? `${value.split('\n').length}`;
  return value.length > SHOWN || /\D/.test(lines) ? lines : '';
}

function rawValue(element: Element, tag: string, role: string): string | undefined {
  switch (tag) {
    case 'input':
    case 'textarea':
      return String((element as HTMLInputElement).value);
    case 'select':
      return Array.from((element as HTMLSelectElement).selectedOptions, (o) => fold(o.label || o.text)).join(
        ', ',
      );
    case 'progress':
    case 'meter':
      return has(element, 'value') ? String((element as HTMLMeterElement).value) : undefined;
    default: {
      if (isEditingHost(element)) return writtenText(element);
      const text = attribute(element, 'aria-valuetext') || attribute(element, 'aria-valuenow');
      return text !== '' ? text : SHOWING.has(role) ? shownValue(element, role) : undefined;
    }
  }
}

/** Roles of fields whose text is their value. */
const SHOWING = new Set('combobox searchbox textbox'.split(' '));

function statesOf(element: Element, tag: string, role: string, disturbed: boolean): string[] {
  const states: string[] = [];
  const add = (name: string, value: boolean | string | number | undefined): void => {
    if (value === true) states.push(name);
    else if (value !== false && value !== undefined && value !== '') states.push(`${name}=${String(value)}`);
  };
  if (CHECKABLE.has(role))
    add('checked', disturbed ? (element as HTMLInputElement).checked : getAriaChecked(element));
  if (SELECTABLE.has(role) && !disturbed && !isInClosedList(element, tag))
    add('selected', getAriaSelected(element));
  if (role === 'generic') add('selected', attribute(element, 'aria-selected') === 'true'); // as where components draw options
  if (lacksSummary(element, tag)) states.push('clickable');
  if (!FIELDS.has(role) && isEditingHost(element)) states.push('editable');
  if (role === 'button' && !disturbed && has(element, 'aria-pressed'))
    add('pressed', getAriaPressed(element));
  if (!disturbed && (EXPANDABLE.has(role) || tag === 'details') && tag !== 'select') {
    const expanded = tag === 'summary' ? isOpen(element) : getAriaExpanded(element);
    if (expanded !== 'none' && expanded !== undefined) states.push(expanded ? 'expanded' : 'collapsed');
  }
  if (!disturbed && (INTERACTIVE.has(role) || role === 'group' || role === 'generic')) {
    add('disabled', getAriaDisabled(element) || isDisabledAround(element, tag));
  }
  if (FIELDS.has(role) || CHECKABLE.has(role) || (STATED.has(role) && matches(element, STATING))) {
    const invalid = getAriaInvalid(element);
    const saysSo = has(element, 'aria-invalid') && invalid !== 'false';
    add('invalid', saysSo ? invalid === 'true' || invalid : isRefused(element));
    add('required', has(element, 'required') || attribute(element, 'aria-required') === 'true');
    add('readonly', has(element, 'readonly') || attribute(element, 'aria-readonly') === 'true');
  }
  if (role === 'heading' || (LEVELED.has(role) && has(element, 'aria-level')))
    add('level', levelOf(element, tag));
  if (MULTIPLE.has(role))
    add('multiselectable', has(element, 'multiple') || attribute(element, 'aria-multiselectable') === 'true');
  const current = attribute(element, 'aria-current');
  if (current !== '' && current !== 'false') add('current', wordOf(CURRENT, current) || true);
  add('sort', wordOf(SORTED, attribute(element, 'aria-sort')));
  if (attribute(element, 'aria-busy') === 'true') states.push('busy');
  if (/dialog$/.test(role) && (attribute(element, 'aria-modal') === 'true' || isModal(element, tag)))
    states.push('modal');
  if (isLive(element) && !ANNOUNCED.has(role)) add('live', attribute(element, 'aria-live'));
  const popup = attribute(element, 'aria-haspopup');
  if (POPPING.has(role)) add('haspopup', popup === 'true' ? 'menu' : wordOf(POPUPS, popup));
  const marked = INTERACTIVE.has(role) ? markAround(element) : '';
  if (marked !== '') states.push(marked);
  if (isFocused(element, role)) states.push('focused');
  else if (isActive(element)) states.push('active');
  return states;
}

/** At which level something stands; a heading that does not say so stands at the second. */
function levelOf(element: Element, tag: string): number {
  const said = Number(attribute(element, 'aria-level'));
  if (Number.isInteger(said) && said >= 1) return said;
  return /^h[1-6]$/.test(tag) ? Number(tag.slice(1)) : 2;
}

/** What the mark of the words around an element says of it; "" without one. */
function markAround(element: Element): string {
  const around = closest(element, MARKED);
  return around === null ? '' : (MARK_STATES.get(markOf(around, tagOf(around))) ?? '');
}

const MARKED = 'del, s, ins, mark, [role=deletion], [role=insertion], [role=mark]';
const MARK_STATES = new Map([
  ['del', 'deleted'],
  ['s', 'deleted'],
  ['ins', 'inserted'],
  ['mark', 'highlighted'],
]);

/** Roles of what stands at a level that its place does not show where rows follow one another. */
const LEVELED = new Set('listitem row treeitem'.split(' '));

/** Roles of what several parts can be selected in. */
const MULTIPLE = new Set('grid listbox tablist tree treegrid'.split(' '));

/** The values of attributes that ARIA has words for. What a page writes otherwise is none of its states. */
const CURRENT = new Set('page step location date time'.split(' '));
const SORTED = new Set('ascending descending other'.split(' '));
const POPUPS = new Set('menu listbox tree grid dialog'.split(' '));

/** Roles without a value that can be required, read-only or invalid, as fields can, where they say so. */
const STATED = new Set(
  'application columnheader grid gridcell radiogroup rowheader tree treegrid'.split(' '),
);

const STATING = '[aria-required], [aria-readonly], [aria-invalid]';

function wordOf(words: ReadonlySet<string>, value: string): string {
  return words.has(value) ? value : '';
}

/** Roles of what opens something. A combobox is known to. */
const POPPING = new Set(
  'button link menuitem menuitemcheckbox menuitemradio switch tab treeitem textbox generic'.split(' '),
);

/** Whether the browser considers a field's value invalid, once the user has left it or submitted its form. */
function isRefused(element: Element): boolean {
  return matches(element, ':user-invalid');
}

/** Whether a field says what may be put into it. One that only a script refuses is read when its focus changes. */
function isBound(element: Element): boolean {
  return (
    has(element, 'required') ||
    has(element, 'pattern') ||
    /^(?:email|number|url)$/.test(attribute(element, 'type'))
  );
}

/** True inside what is disabled as a whole. */
function isDisabledAround(element: Element, tag: string): boolean {
  if (tag === 'option' && closest(element, 'optgroup[disabled]') !== null) return true;
  const around = closest(element, '[aria-disabled]');
  return around !== null && attribute(around, 'aria-disabled') === 'true';
}

/** Roles whose changes are announced without saying so. */
const ANNOUNCED = new Set('alert status log timer'.split(' '));

/** True for a region whose changes are announced. */
export function isLive(element: Element): boolean {
  return /^(?:polite|assertive)$/.test(attribute(element, 'aria-live'));
}

/** True for a dialog behind which nothing can be operated. */
export function isModal(element: Element, tag: string): boolean {
  return tag === 'dialog' && matches(element, ':modal');
}

/** Reads the line of an element without a role that an author named: what it contains belongs together. */
export function readNamed(element: Element, tag: string, { disturbed, labels }: Surroundings): Facts {
  const bare =
    NAMELESS.has(tag) ||
    !(isLabelled(element) || isTitled(element)) ||
    matches(element, '[role=none], [role=presentation]');
  const cut: number[] = [];
  const name = bare || disturbed ? '' : shorten(ownName(element, labels), cut, 0);
  if (name === '') return none();
  return {
    ...{ role: 'group', name, description: descriptionOf(element, tag, name, disturbed), value: undefined },
    ...{ states: statesOf(element, tag, 'group', disturbed), keys: keysOf(element, tag) },
    cut: cut.length > 0 ? [...cut, 0, 0] : undefined,
  };
}

/** Reads the line of an element without a role that is an item of a list. */
export function readItem(element: Element, tag: string): Facts {
  return { ...none(), role: 'item', keys: keysOf(element, tag) };
}

/** Tags whose names are another's, or that stand for the whole page. */
const NAMELESS = new Set('body label legend slot option br'.split(' '));

function none(): Facts {
  return { role: '', name: '', description: '', value: undefined, states: [], keys: '', cut: undefined };
}

/** Reads the line of an element without a role that is worth one. */
export function readGeneric(element: Element, tag: string, { disturbed, labels }: Surroundings): Facts {
  const states = statesOf(element, tag, 'generic', true);
  const expanded = attribute(element, 'aria-expanded');
  if (/^(?:true|false)$/.test(expanded)) states.push(expanded === 'true' ? 'expanded' : 'collapsed');
  const name =
    (isLabelled(element) || isTitled(element)) && !disturbed
      ? ownName(element, labels)
      : fold(attribute(element, 'aria-label'));
  return {
    ...{ role: 'generic', name: cutWhole(name, MAX_TEXT), description: '' },
    ...{ value: undefined, states, keys: keysOf(element, tag), cut: undefined },
  };
}

/** Which option of a closed list is chosen is the list's value already. */
function isInClosedList(element: Element, tag: string): boolean {
  if (tag !== 'option') return false;
  const select = closest(element, 'select') as HTMLSelectElement | null;
  return select !== null && !select.multiple && select.size <= 1;
}

function isOpen(summary: Element): boolean {
  const details = closest(summary, 'details');
  return details !== null && has(details, 'open');
}

function isFocused(element: Element, role: string): boolean {
  if (role === 'document') return false;
  const root = rootOf(element) as Document | ShadowRoot;
  return root.activeElement === element && element !== document.body;
}

/** The element to which a focused one gives its keys, such as the option that the arrows have come to. */
export function activeIn(focused: Element): Element | null {
  const id = attribute(focused, 'aria-activedescendant');
  return id === '' ? null : (rootOf(focused) as Document | ShadowRoot).getElementById(id);
}

function isActive(element: Element): boolean {
  if (!has(element, 'id')) return false;
  const { activeElement } = rootOf(element) as Document | ShadowRoot;
  return activeElement != null && activeIn(activeElement) === element;
}

/**
 * The attributes by which a page knows its elements, for finding them again after a re-render, and the picture that
 * stands in one, or before it.
 */
export function keysOf(element: Element, tag: string): string {
  const keys: string[] = [];
  const add = (name: string, value: string): void => {
    if (value !== '') keys.push(`${name}=${value.slice(0, 200)}`);
  };
  for (const name of ['id', 'name', 'data-testid', 'data-test', 'data-cy', 'data-key', 'data-id'])
    add(name, attribute(element, name));
  add('href', addressOf(element));
  if (tag === 'input') keys.push(`type=${(element as HTMLInputElement).type}`);
  add('picture', pictureOf(element));
  return keys.join(' ');
}

/** Text as it is shown: clean, white space folded, without the letters that are pictures in an icon font only. */
export function fold(text: string): string {
  return folded(text.replace(/[\ue000-\uf8ff]+/g, ' '));
}

/** Cuts what is too long, and notes at `at` how long it was and a number that changes with the rest. */
export function shorten(text: string, cut: number[], at: number): string {
  if (text.length <= MAX_TEXT) return text;
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  cut[at] = text.length;
  cut[at + 1] = hash >>> 0;
  return cutWhole(text, MAX_TEXT);
}
