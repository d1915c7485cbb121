/** Synthetic events, used where trusted input is not possible. A page can distinguish them from a user's. */
import type { ActAsk as Ask, ActTold as Told } from '../../messages';
import { RefusedFailed, RefusedKind } from '../../protocol';
import { focusField, setNative } from './fields';

/** Bits of `modifiers`, as the debugger has them. */
const ALT = 1;
const CONTROL = 2;
const META = 4;
const SHIFT = 8;

function mouse(element: Element, type: string, more: PointerEventInit = {}): boolean {
  const { left, top, width, height } = element.getBoundingClientRect();
  const at = { clientX: left + width / 2, clientY: top + height / 2 };
  const init = { bubbles: true, cancelable: true, composed: true, view: window, ...at, ...more };
  const pointer = type.startsWith('pointer');
  return element.dispatchEvent(pointer ? new PointerEvent(type, init) : new MouseEvent(type, init));
}

function keys(modifiers: number): EventModifierInit {
  return {
    altKey: (modifiers & ALT) !== 0,
    ctrlKey: (modifiers & CONTROL) !== 0,
    metaKey: (modifiers & META) !== 0,
    shiftKey: (modifiers & SHIFT) !== 0,
  };
}

export function scriptedHover(element: Element): void {
  for (const type of ['pointerover', 'mouseover', 'pointermove', 'mousemove']) mouse(element, type);
  for (const type of ['pointerenter', 'mouseenter']) mouse(element, type, { bubbles: false });
}

export function scriptedClick(element: Element, ask: Ask): void {
  const button = ask.button === 'right' ? 2 : ask.button === 'middle' ? 1 : 0;
  const with_ = { ...keys(ask.modifiers ?? 0), button };
  scriptedHover(element);
  for (let detail = 1; detail <= (ask.double === true ? 2 : 1); detail++) {
    mouse(element, 'pointerdown', { ...with_, detail });
    if (mouse(element, 'mousedown', { ...with_, detail })) (element as HTMLElement).focus?.();
    mouse(element, 'pointerup', { ...with_, detail });
    mouse(element, 'mouseup', { ...with_, detail });
    if (button === 0) mouse(element, 'click', { ...with_, detail });
    else mouse(element, button === 2 ? 'contextmenu' : 'auxclick', with_);
  }
  if (ask.double === true) mouse(element, 'dblclick', { ...with_, detail: 2 });
}

export function scriptedText(element: Element, text: string, clear: boolean): Told {
  const told = focusField(element, clear);
  if (told.refused !== undefined || told.done === true) return told;
  if (told.elsewhere !== undefined)
    return { refused: RefusedFailed, text: `the page moves the focus to ${told.elsewhere}` };
  const field = document.activeElement ?? element;
  const key = [...text].at(-1) ?? 'Delete';
  keyEvent(field, 'keydown', key);
  const inserted = document.execCommand(text === '' ? 'delete' : 'insertText', false, text);
  if (!inserted && text !== '') {
    if (!('value' in field)) return { refused: RefusedKind, text: 'a text field' };
    const input = field as HTMLInputElement;
    setNative(input, 'value', clear ? text : input.value + text);
  }
  keyEvent(field, 'keyup', key);
  return {};
}

function keyEvent(element: Element, type: 'keydown' | 'keyup', key: string, modifiers = 0): boolean {
  const init = { key, bubbles: true, cancelable: true, composed: true, ...keys(modifiers) };
  return element.dispatchEvent(new KeyboardEvent(type, init));
}

export function scriptedKey(element: Element, key: string, modifiers: number): void {
  const goesOn = keyEvent(element, 'keydown', key, modifiers);
  if (goesOn && key === 'Enter') {
    const { form } = element as HTMLInputElement;
    if (element.tagName === 'BUTTON' || element.tagName === 'A') (element as HTMLElement).click();
    else if (form != null && element.tagName === 'INPUT') form.requestSubmit();
  }
  keyEvent(element, 'keyup', key, modifiers);
}

export function scriptedDrag(from: Element, to: Element): void {
  const dataTransfer = new DataTransfer();
  const send = (element: Element, type: string): boolean =>
    element.dispatchEvent(
      new DragEvent(type, { bubbles: true, cancelable: true, composed: true, dataTransfer }),
    );
  mouse(from, 'pointerdown');
  mouse(from, 'mousedown');
  send(from, 'dragstart');
  mouse(to, 'pointermove');
  mouse(to, 'mousemove');
  send(to, 'dragenter');
  send(to, 'dragover');
  send(to, 'drop');
  send(from, 'dragend');
  mouse(to, 'pointerup');
  mouse(to, 'mouseup');
}
