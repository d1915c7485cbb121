/** What is written in an editor, or shown in a field that is no control of the browser. */
import { clean, folded } from '../../clean';
import {
  all,
  attribute,
  first,
  firstChildOf,
  matches,
  nextSiblingOf,
  nodeTypeOf,
  parentOf,
  tagOf,
} from '../dom';
import { BLOCKS, hiddenByMarkup } from '../text';
import { isPlainlyShown, shadowOf } from './rendering';

/** How deep what is written in an editor is read. */
const MAX_WRITTEN_DEPTH = 1000;

const NOT_WRITTEN = new Set('script style template noscript input textarea select iframe object'.split(' '));

/** What is written in an editor: its lines, as they are shown. */
export function writtenText(editor: Element): string {
  const keeps = /^(?:pre|break-spaces)/.test(getComputedStyle(editor).whiteSpace);
  const lines: string[] = [];
  let line: string | undefined;
  const end = (): void => {
    if (line !== undefined) lines.push(keeps ? line : line.replace(EDGES, '').replace(/\u00a0/g, ' '));
    line = undefined;
  };
  const write = (text: string): void => {
    const shown = keeps ? text : clean(text).replace(FOLDS, ' ');
    if (line !== undefined || keeps || shown.replace(EDGES, '') !== '') line = (line ?? '') + shown;
  };
  const walk = (parent: Node, depth: number): void => {
    for (let node = firstChildOf(parent); node !== null; node = nextSiblingOf(node)) {
      const type = nodeTypeOf(node);
      if (type === Node.TEXT_NODE) write((node as Text).data);
      if (type !== Node.ELEMENT_NODE || depth > MAX_WRITTEN_DEPTH) continue;
      const tag = tagOf(node as Element);
      if (tag === 'br') {
        line ??= '';
        end();
      } else if (tag === 'img') {
        write(attribute(node as Element, 'alt'));
      } else if (!isControl(node as Element, tag) && !hiddenByMarkup(node as Element)) {
        const block = BLOCKS.has(tag) && tag !== 'label';
        if (block) end();
        walk(node, depth + 1);
        if (block) end();
      }
    }
  };
  walk(editor, 0);
  end();
  return lines.join('\n').replace(/^\n+/, '').trimEnd();
}

/** Whether an element in an editor is no part of the text: a control has a line of its own. */
function isControl(element: Element, tag: string): boolean {
  return NOT_WRITTEN.has(tag) || tag === 'button' || attribute(element, 'role') === 'button';
}

/** White space that is shown as one space, or not at all at the ends of a line. */
const FOLDS = /[ \t\n\r\f]+/g;
const EDGES = /^[ \t\n\r\f]+|[ \t\n\r\f]+$/g;

/** Whether an element of a tag and a type is a field with a text, whatever role a page gives it. */
export function isTyped(tag: string, type: string): boolean {
  const types = /^(?:text|search|email|number|tel|url|password|date.*|month|week|time)$/;
  return tag === 'input' && types.test(type);
}

/** What is a field, or a list to choose from: the value of what holds it is not all its text. */
const LISTS = 'select, [contenteditable], [role=listbox], [role=option]';
const TYPED = 'input, textarea, [role=textbox]';
/** What has a line of its own in such a field, and is no part of its value. */
const OPERABLE = 'button, a[href], [role=button], [role=link]';
const APART = `${OPERABLE}, label, [role=textbox]`;

/** The text in an element that says itself that it is a field; undefined if a part of it is the field. */
export function shownValue(field: Element, role: string): string | undefined {
  if (first(field, LISTS) !== null) return undefined;
  const types = first(field, TYPED) !== null;
  if (role !== 'combobox' && (types || first(field, OPERABLE) !== null)) return undefined; // which has no line in a value
  const text = shownText(field);
  // Beside a field to type in, what is chosen already is the value, if anything is.
  return types && text === '' ? undefined : text;
}

/** How many elements around a field the box is, at most, that is drawn around it, and how high, in pixels. */
const MAX_AROUND = 5;
const MAX_BOX = 200;
const OTHERS = 'input:not([type=hidden]), select, textarea, [role=combobox], [contenteditable]';

/**
 * The text that a component draws over an empty field to type in, or beside it, in the box that it draws around both: what is chosen,
 * or what may be. React Select and Ant Design do so. "" without any. The field's name, if it is drawn first, is left out.
 */
export function drawnBeside(field: Element, name = ''): string {
  if (attribute(field, 'role') !== 'combobox' || isBoxed(field)) return '';
  let box = parentOf(field);
  for (let left = MAX_AROUND; box !== null && left > 0; left--, box = parentOf(box)) {
    if (all(box, OTHERS).length > 1) return '';
    if (!isBoxed(box) && !isBoxed(box, '::before')) continue;
    const text = box.getBoundingClientRect().height > MAX_BOX ? '' : shownText(box);
    return name !== '' && text.startsWith(name) ? text.slice(name.length).trimStart() : text;
  }
  return '';
}

/** Whether an element has a border or a line below, or what is drawn before its content. */
function isBoxed(element: Element, pseudo?: '::before'): boolean {
  const { borderBottomStyle, borderBottomWidth, boxShadow, content } = getComputedStyle(element, pseudo);
  if (pseudo !== undefined && (content === 'none' || content === 'normal')) return false;
  return (borderBottomStyle !== 'none' && borderBottomWidth !== '0px') || boxShadow !== 'none';
}

/** The text in an element, without fields and what has a line of its own. */
function shownText(root: Element): string {
  const texts: string[] = [];
  const enter = (parent: Element, depth: number): void => {
    const assigned = tagOf(parent) === 'slot' ? (parent as HTMLSlotElement).assignedNodes() : [];
    for (const node of assigned) take(node, depth);
    if (assigned.length > 0) return;
    for (let node = firstChildOf(shadowOf(parent) ?? parent); node !== null; node = nextSiblingOf(node))
      take(node, depth);
  };
  const take = (node: Node, depth: number): void => {
    if (nodeTypeOf(node) === Node.TEXT_NODE) texts.push((node as Text).data);
    if (nodeTypeOf(node) !== Node.ELEMENT_NODE || depth > MAX_WRITTEN_DEPTH) return;
    const element = node as Element;
    const tag = tagOf(element);
    if (NOT_WRITTEN.has(tag) || hiddenByMarkup(element)) return;
    if (matches(element, APART)) {
      texts.push(' '); // it parts what is before it from what is after it
      return;
    }
    const style = getComputedStyle(element);
    if (style.display !== 'contents' && !isPlainlyShown(element)) return;
    const apart = style.display === 'inline' || style.display === 'contents' ? '' : ' ';
    texts.push(apart, attribute(element, 'aria-label') || attribute(element, 'alt'));
    if (attribute(element, 'aria-label') === '') enter(element, depth + 1);
    texts.push(apart);
  };
  enter(root, 0);
  return folded(texts.join(''));
}
