/** Puts the focus into fields, and sets those that no keyboard types into. */
import { folded } from '../../clean';
import type { ActTold as Told } from '../../messages';
import { RefusedDisabled, RefusedFailed, RefusedKind, RefusedOption } from '../../protocol';
import { CodeEditor } from '../code-editor';
import { all, attribute, closest, first, has, parentOf, tagOf } from '../dom';
import { describe } from '../target';
import { isEditingHost } from '../text';
import { frame } from './ready';

/** Inputs whose value is set as a whole: a browser has its own pickers for them. */
const SET_TYPES: Readonly<Record<string, string>> = {
  color: '#rrggbb',
  date: 'yyyy-mm-dd',
  'datetime-local': 'yyyy-mm-ddThh:mm',
  month: 'yyyy-mm',
  range: 'a number',
  time: 'hh:mm',
  week: 'yyyy-Www',
};

const NO_TEXT = new Set('button checkbox file hidden image radio reset submit'.split(' '));

/** How long an editor may take to show a selection, in ms. */
const SELECTION_MS = 500;
const EDITED = '[contenteditable]:not([contenteditable=false])';
/** What editors edit apart, or as one thing, and with what around it select in ways of their own. */
const APART = '[contenteditable=false], table';
/** In how many frames an editor has heard of a selection for sure. */
const HEARD_FRAMES = 2;

/** The element of a reference that takes text, or one in it that does. */
export function textField(element: Element): HTMLElement | undefined {
  const tag = tagOf(element);
  if (tag === 'textarea' || CodeEditor.of(element) !== undefined) return element as HTMLElement;
  if (tag === 'input')
    return NO_TEXT.has((element as HTMLInputElement).type) ? undefined : (element as HTMLElement);
  if (isEditingHost(element) || (element as HTMLElement).isContentEditable) return element as HTMLElement;
  const inner = (element.shadowRoot ?? element).querySelector(
    'input:not([type=hidden]), textarea, [contenteditable]:not([contenteditable=false])',
  );
  return inner === null ? undefined : (inner as HTMLElement);
}

/**
 * Puts the focus where text is to be typed: behind what is there, or over all of it. Answers `done` for a
 * field whose value is to be set as a whole.
 */
export function focusField(element: Element, all: boolean): Told {
  const field = textField(element);
  if (field === undefined) return { refused: RefusedKind, text: 'a text field' };
  if (has(field, 'readonly') && 'readOnly' in field) return { refused: RefusedDisabled, text: 'read-only' };
  if (tagOf(field) === 'input' && (field as HTMLInputElement).type in SET_TYPES) return { done: true };
  field.focus();
  const focused = activeBeside(field) === field && document.hasFocus();
  const elsewhere = focusElsewhere(field);
  const editor = editorOf(field);
  if (editor === undefined) {
    const input = field as HTMLInputElement;
    if (all) input.select();
    else {
      const end = input.value.length;
      try {
        input.setSelectionRange(end, end);
      } catch {
        // fields of some types (email, number) have a caret, and do not tell of it: it stands at the end
      }
    }
  } else if (editor === 'rich') {
    const selection = getSelection();
    if (all) selection?.selectAllChildren(field);
    else {
      const { node, at } = textEnd(field);
      selection?.collapse(node, at);
    }
  }
  return {
    focused,
    line: tagOf(field) === 'input',
    ...(editor !== undefined && { editor }),
    ...(elsewhere !== undefined && { elsewhere }),
  };
}

/** What has the focus instead of a field; undefined if keys reach the field. */
function focusElsewhere(field: HTMLElement): string | undefined {
  const active = activeBeside(field);
  return active !== null && takesTextOf(active, field) ? undefined : describe(focusedElement()).target;
}

/** The element in a field's root that has the focus. */
function activeBeside(field: HTMLElement): Element | null {
  return (field.getRootNode() as Document | ShadowRoot).activeElement;
}

/** Whether text that an element gets is text of a field: of one in it, or of the editor around it. */
export function takesTextOf(element: Element, field: Element): boolean {
  return field.contains(element) || (isEditingHost(element) && element.contains(field));
}

/** Where keys go without a reference: the focused field, with its caret or selection as it is. */
export function focusedField(clear: boolean): Told {
  const focused = focusedElement();
  if (tagOf(focused) === 'iframe') {
    // Only the browser knows what has the focus in it.
    return clear
      ? { refused: RefusedFailed, text: 'the focus is in a frame; clear needs a ref' }
      : { focused: true };
  }
  const field = textField(focused);
  if (field !== focused) return { refused: RefusedFailed, text: 'no text field has the focus' };
  if (has(field, 'readonly') && 'readOnly' in field) return { refused: RefusedDisabled, text: 'read-only' };
  const editor = editorOf(field);
  return { focused: true, line: tagOf(field) === 'input', ...(editor !== undefined && { editor }) };
}

/**
 * As {@link focusField}, and resolves when the selection stands. Editors hear of one a little later, and for a moment
 * after they have changed something put theirs back. Answers `byKeys` where the page's selection is not certain to be all.
 */
export async function focusEditor(element: Element, all: boolean): Promise<Told> {
  const deadline = performance.now() + SELECTION_MS;
  for (;;) {
    const told = focusField(element, all);
    const field = textField(element);
    if (told.editor !== 'rich' || field === undefined) return told;
    // In a part of an editor, the key that selects all may select what is around it.
    const around = parentOf(field);
    const isWhole = around === null || closest(around, EDITED) === null;
    const byKeys = all && isWhole && told.elsewhere === undefined;
    if (told.focused !== true) return { ...told, byKeys };
    let stands = true;
    for (let frames = 0; stands && frames < HEARD_FRAMES; frames++) {
      await frame();
      stands = isSelected(field, all);
    }
    if (byKeys && first(field, APART) !== null) return { ...told, byKeys };
    if (stands || performance.now() >= deadline) return { ...told, byKeys: byKeys && !stands };
  }
}

/** What a field is if it is not one of HTML's. */
export function editorOf(field: HTMLElement): Told['editor'] {
  if (CodeEditor.of(field)?.passes === false) return 'code';
  if (attribute(field, 'role') === 'spinbutton' && !('select' in field)) return 'segment';
  return 'select' in field ? undefined : 'rich';
}

/**
 * How much is left in an editor, once it has shown what keys did: characters of text, and parts that are edited apart. Answers
 * `elsewhere` if the keys moved the focus away.
 */
export async function left(element: Element): Promise<Told> {
  for (let frames = 0; frames < HEARD_FRAMES; frames++) await frame();
  const field = textField(element);
  if (field === undefined) return { left: 0 };
  const elsewhere = focusElsewhere(field);
  if (elsewhere !== undefined) return { left: 0, elsewhere };
  if (editorOf(field) === 'segment') return { left: segmentText(field).length };
  // What lies over the text is the editor's own.
  const parts = [...all(field, APART)].filter((part) => getComputedStyle(part).position !== 'absolute');
  return { left: solid(edited(field)).length + parts.length };
}

/** What a part of a date or time shows; "" for a placeholder, such as `dd`, or for the half of the day, which is only replaced. */
export function segmentText(field: HTMLElement): string {
  const text = field.textContent ?? '';
  return /\p{Nd}/u.test(text) ? text : '';
}

/** The text in an editor that a user can edit: without hints and labels of the editor's own. */
export function edited(field: HTMLElement): string {
  const texts = document.createTreeWalker(field, NodeFilter.SHOW_TEXT);
  let text = '';
  while (texts.nextNode() !== null)
    if (texts.currentNode.parentElement?.isContentEditable === true) text += (texts.currentNode as Text).data;
  return text;
}

/** A text without white space, and without characters that show nothing. */
export function solid(text: string): string {
  return folded(text).replaceAll(' ', '');
}

/** How long a code editor may take to show what is pasted, in ms. */
const PASTED_MS = 1000;

/**
 * Pastes a text where the selection is, and resolves when the editor shows it: until then keys may have it drop the text. False
 * if the page leaves that to the browser. Of a text that it shows already, its caret shows that it has been pasted.
 */
export async function paste(field: Element, text: string): Promise<boolean> {
  const editor = CodeEditor.of(field);
  const before = editor?.drawn().text;
  const isShown = before !== undefined && before !== '' && text.includes(before);
  const deadline = performance.now() + PASTED_MS;
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  const init = { bubbles: true, cancelable: true, composed: true, clipboardData };
  let moved = false;
  const move = (): void => {
    moved = true;
  };
  const drawn = new MutationObserver(move);
  if (editor !== undefined)
    drawn.observe(editor.root, { subtree: true, childList: true, characterData: true, attributes: true });
  document.addEventListener('selectionchange', move);
  const isTaken = !field.dispatchEvent(new ClipboardEvent('paste', init));
  for (let still = 0; isTaken && editor?.drawn().text === before && performance.now() < deadline; ) {
    await frame();
    if (isShown && moved && ++still > HEARD_FRAMES) break;
  }
  drawn.disconnect();
  document.removeEventListener('selectionchange', move);
  return isTaken;
}

/** The element that has the keys. */
export function focusedElement(): Element {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused ?? document.documentElement;
}

/**
 * Where a field's text ends: inside its last block, since between blocks editors know no caret. They select a table there as one
 * thing, and typing replaces it.
 */
function textEnd(field: Node): { node: Node; at: number } {
  let node = field;
  for (;;) {
    const inner = editable(lastOf(node));
    if (inner?.nodeName === 'BR') return { node, at: node.childNodes.length - 1 };
    if (inner === undefined)
      return { node, at: node instanceof CharacterData ? node.length : node.childNodes.length };
    node = inner;
  }
}

/** The last child of a node. White space behind a block is not text. */
function lastOf({ lastChild }: Node): Node | null {
  const before = lastChild?.previousSibling;
  const isBlank = lastChild instanceof Text && lastChild.data.trim() === '';
  return isBlank && before instanceof HTMLElement && getComputedStyle(before).display !== 'inline'
    ? before
    : lastChild;
}

/** A node in which there can be text; of a part that cannot be edited, what can be within it. */
function editable(node: Node | null): Node | undefined {
  if (node instanceof Comment) return undefined;
  if (!(node instanceof HTMLElement) || node.isContentEditable) return node ?? undefined;
  return [...node.querySelectorAll('[contenteditable=true], [contenteditable=""]')].at(-1);
}

/** Whether all of a field's text is selected, or the caret is at its end. */
function isSelected(field: Element, all: boolean): boolean {
  const selection = getSelection();
  if (selection === null || selection.rangeCount === 0) return false;
  const selected = selection.getRangeAt(0);
  const before = document.createRange();
  before.setStart(field, 0);
  before.setEnd(selected.startContainer, selected.startOffset);
  const behind = document.createRange();
  behind.selectNodeContents(field);
  behind.setStart(selected.endContainer, selected.endOffset);
  return `${behind}`.trim() === '' && (all ? `${before}` === '' : selected.collapsed);
}

/** Sets a property so that the page's framework sees it as user input. */
export function setNative(field: HTMLElement, property: 'value' | 'checked', value: string | boolean): void {
  const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), property)?.set;
  if (set !== undefined) set.call(field, value);
  else (field as unknown as Record<string, unknown>)[property] = value;
  field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  field.dispatchEvent(new Event('change', { bubbles: true }));
}

/**
 * Sets a field that takes no typing. One that does is answered with nothing done, and one that is to be
 * clicked, to be on or off, with `focused: false`.
 */
export function fill(element: Element, text: string): Told {
  const tag = tagOf(element);
  if (tag === 'select') return choose(element, [text]);
  const on = isOn(element);
  if (on !== undefined) {
    if (text !== 'true' && text !== 'false') return { refused: RefusedOption, text: '"true" or "false"' };
    if (on && text === 'false' && isRadio(element))
      return { refused: RefusedOption, text: '"true" only; to clear it, choose another one of its group' };
    return String(on) === text ? { done: true } : { focused: false };
  }
  if (tag !== 'input') return {};
  const input = element as HTMLInputElement;
  const format = SET_TYPES[input.type];
  if (format === undefined) return {};
  const before = input.value;
  input.focus();
  const probe = document.createElement('input');
  probe.type = input.type;
  for (const name of ['min', 'max', 'step']) {
    const value = input.getAttribute(name);
    if (value !== null && input.type === 'range') probe.setAttribute(name, value);
  }
  probe.value = text;
  const wrong =
    input.type === 'range' ? Number(probe.value) !== Number(text) : text !== '' && probe.value === '';
  if (wrong || (input.type === 'color' && probe.value !== text.toLowerCase())) {
    const range = input.type === 'range' ? ` from ${input.min || 0} to ${input.max || 100}` : '';
    return { refused: RefusedOption, text: `${format}${range}` };
  }
  if (before !== probe.value) setNative(input, 'value', text);
  return { done: true };
}

function isRadio(element: Element): boolean {
  const role = attribute(element, 'role');
  return role === '' ? (element as HTMLInputElement).type === 'radio' : /^(?:menuitem)?radio$/.test(role);
}

/** Whether what can be on or off is on; undefined for anything else. */
function isOn(element: Element): boolean | undefined {
  const type = tagOf(element) === 'input' ? (element as HTMLInputElement).type : '';
  if (type === 'checkbox' || type === 'radio') return (element as HTMLInputElement).checked;
  if (!/^(?:checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(attribute(element, 'role')))
    return undefined;
  return attribute(element, 'aria-checked') === 'true';
}

/** Chooses options of a native list, by their labels or values. */
export function choose(element: Element, wanted: string[]): Told {
  const select = element as HTMLSelectElement;
  if (tagOf(element) !== 'select') return { refused: RefusedKind, text: 'a list of options' };
  const options = [...select.options];
  const chosen = new Set<HTMLOptionElement>();
  for (const want of wanted) {
    const option =
      options.find(({ label }) => folded(label) === folded(want)) ??
      options.find(({ value }) => value === want) ??
      options.find(({ label }) => folded(label).toLowerCase() === folded(want).toLowerCase());
    if (option === undefined) {
      const names = options.slice(0, 30).map(({ label }) => JSON.stringify(folded(label)));
      const more = options.length > names.length ? `, … (${options.length})` : '';
      return { refused: RefusedOption, text: names.join(', ') + more };
    }
    if (option.disabled || option.closest('optgroup:disabled') !== null) {
      return { refused: RefusedDisabled, text: `option ${JSON.stringify(folded(option.label))}` };
    }
    chosen.add(option);
  }
  if (chosen.size > 1 && !select.multiple)
    return { refused: RefusedKind, text: 'a list that allows several values' };
  select.focus();
  for (const option of options) option.selected = chosen.has(option);
  if (!select.multiple && chosen.size === 0) select.selectedIndex = -1;
  select.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  select.dispatchEvent(new Event('change', { bubbles: true }));
  return { done: true };
}
