/** What an element's line has from its surroundings and its style, and by what a control without a name may be called. */
import { cutWhole } from '../../cut';
import { addressOf, all, attribute, closest, first, tagOf } from '../dom';
import { drawnBeside } from './editor';
import { fold, INTERACTIVE } from './element';
import type { Part } from './part';
import { isPlainlyShown, isUnhit } from './rendering';

const MAX_HINT = 60;

/** Attributes by which tests know a control. */
const TESTED = ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'];

/** Classes that say which picture of an icon font an element is, and those that say how it looks. */
const ICON =
  /^(?:fa|fas|bi|icon|mdi|ti|pi|ri|lucide|glyphicon|octicon|codicon|anticon|ph|uil)-([a-z][\w-]*)$/i;
const LOOK =
  /^(?:solid|regular|light|thin|brands|duotone|fw|lg|sm|xs|xl|\d+x|spin|pulse|rotate-\d+|inverse|fill|bold|icon)$/i;

/** Classes of the icon fonts that draw a word as a picture. */
const LIGATURES = /(?:^|\s)material-(?:icons|symbols)/;

/** Roles of what may draw a part of its rows, and say how many it has. */
const TABLES = new Set(['grid', 'table', 'treegrid']);
const AROUND_ROWS = 'table, [role=grid], [role=table], [role=treegrid]';

/** Adds to an element's line what its surroundings and its style say of it, and what it may be called by. */
export function complete(part: Part): void {
  const { element, tag, inert, unhit, facts } = part;
  const rows = statedRows(part);
  if (rows > 0 && !drawsRows(element, rows)) facts.states.push(`rows=${rows}`);
  if (inert) {
    if (facts.role === '') part.facts = { ...facts, role: 'group', states: ['inert'] };
    else facts.states.push('inert');
    return;
  }
  if (facts.role === 'img' && facts.name === '' && part.parent?.pictured === true)
    facts.description ||= hinted(fileOf(element));
  if (!INTERACTIVE.has(facts.role) && facts.role !== 'generic') return;
  const framed = tag === 'input' && facts.role === 'combobox';
  // Labels are clicked in place of such boxes, and its frame in place of a combobox; a picture in place of a whole, where it alone is hit.
  const elsewhere = isLabelHit(element, tag) || (framed && part.parent?.unhit === false);
  if (unhit && facts.role !== 'option' && !facts.states.includes('disabled') && !elsewhere)
    facts.states.push('no-pointer');
  if (framed && facts.value === '' && facts.description === '')
    facts.description = cutWhole(drawnBeside(element, facts.name), MAX_HINT);
  if (facts.name !== '' || says(part)) return;
  // The hint is the first line of the description, which has one line itself.
  facts.description = [hintOf(element, tag), facts.description].filter((line) => line !== '').join('\n');
}

/** How many rows a table says it has, drawn or not; 0 where it does not say. */
export function statedRows({ element, facts }: Part): number {
  const rows = TABLES.has(facts.role) ? Number(attribute(element, 'aria-rowcount')) : 0;
  return Number.isInteger(rows) && rows > 0 ? rows : 0;
}

/** Whether a table shows at least so many rows. A row that is drawn in several places has the same index in each. */
function drawsRows(table: Element, least: number): boolean {
  const found = all(table, 'tr, [role=row]');
  if (found.length < least) return false;
  const drawn = new Set<Element | string>();
  for (const row of found) {
    if (closest(row, AROUND_ROWS) === table && isPlainlyShown(row))
      drawn.add(attribute(row, 'aria-rowindex') || row);
  }
  return drawn.size >= least;
}

/** Whether something else says what a control without a name is. */
function says({ element, facts }: Part): boolean {
  return facts.role === 'option' || (facts.role === 'generic' && fold(element.textContent ?? '') !== '');
}

/** Whether an element is a box that is clicked by its label. */
function isLabelHit(element: Element, tag: string): boolean {
  if (tag !== 'input') return false;
  const { type, labels } = element as HTMLInputElement;
  return (
    /^(?:checkbox|radio|file)$/.test(type) &&
    Array.from(labels ?? []).some((label) => !isUnhit(getComputedStyle(label)))
  );
}

/** The hint of a control without a name; "" if nothing says what it is. */
function hintOf(element: Element, tag: string): string {
  const said = testedBy(element) || iconIn(element) || fieldName(element, tag);
  const address = tag === 'a' || tag === 'area' ? addressOf(element) : '';
  const leads = address === '#' || address.startsWith('javascript:') ? '' : address;
  const hint = fold([said, leads].filter((part) => part !== '').join(' '));
  return hinted(hint);
}

function hinted(hint: string): string {
  return hint === '' ? '' : `hint: ${cutWhole(hint, MAX_HINT)}`;
}

/** What tests know an element by. */
function testedBy(element: Element): string {
  return TESTED.map((name) => attribute(element, name)).find((value) => value !== '') ?? '';
}

/** The name of the picture that an element shows. */
function iconIn(element: Element): string {
  const use = first(element, 'use');
  if (use !== null) return afterHash(addressOf(use));
  for (const at of [element, ...all(element, 'i, span, svg, [data-icon], [data-lucide], [icon], [name]')]) {
    if (LIGATURES.test(attribute(at, 'class'))) return fold(at.textContent ?? '');
    const named = attribute(at, 'data-icon') || attribute(at, 'data-lucide');
    const inner = at === element ? '' : tagOf(at);
    const drawn = inner.endsWith('-icon') ? attribute(at, 'icon') || attribute(at, 'name') : '';
    if (named !== '' || drawn !== '') return named || drawn;
    for (const word of attribute(at, 'class').split(/\s+/)) {
      const icon = ICON.exec(word)?.[1] ?? '';
      if (icon !== '' && !LOOK.test(icon)) return icon;
    }
    const said = inner === 'svg' ? attribute(at, 'id') || testedBy(at) : '';
    if (said !== '') return said;
  }
  const image = first(element, 'img');
  return image === null ? '' : fileOf(image);
}

/** The name of an image's file. */
function fileOf(image: Element): string {
  const file = attribute(image, 'src');
  return file.startsWith('data:') ? '' : (/([^/?#]+)(?:[?#].*)?$/.exec(file)?.[1] ?? '');
}

function afterHash(address: string): string {
  return address.slice(address.indexOf('#') + 1);
}

/** What a form sends a field as. */
function fieldName(element: Element, tag: string): string {
  const isField = tag === 'input' || tag === 'select' || tag === 'textarea';
  return isField ? attribute(element, 'name') : '';
}
