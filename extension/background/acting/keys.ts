/** Keys by their names, as the debugger wants them. */

import { CodedError } from '../../coded-error';
import { CodeInvalid } from '../../protocol';

/** A key of a keyboard, and what it types. */
export interface Key {
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  text?: string;
}

/** The bits by which the debugger knows modifiers. */
export const MODIFIERS: Readonly<Record<string, number>> = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

const MODIFIER_KEYS: Readonly<Record<string, Key>> = {
  Alt: { key: 'Alt', code: 'AltLeft', windowsVirtualKeyCode: 18 },
  Control: { key: 'Control', code: 'ControlLeft', windowsVirtualKeyCode: 17 },
  Meta: { key: 'Meta', code: 'MetaLeft', windowsVirtualKeyCode: 91 },
  Shift: { key: 'Shift', code: 'ShiftLeft', windowsVirtualKeyCode: 16 },
};

/** Keys without a character, with their numbers. */
const NAMED: Readonly<Record<string, number>> = {
  Backspace: 8,
  Tab: 9,
  Enter: 13,
  Escape: 27,
  PageUp: 33,
  PageDown: 34,
  End: 35,
  Home: 36,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Insert: 45,
  Delete: 46,
  ContextMenu: 93,
};

const PUNCTUATION: Readonly<Record<string, [code: string, number: number]>> = {
  ' ': ['Space', 32],
  ';': ['Semicolon', 186],
  '=': ['Equal', 187],
  ',': ['Comma', 188],
  '-': ['Minus', 189],
  '.': ['Period', 190],
  '/': ['Slash', 191],
  '`': ['Backquote', 192],
  '[': ['BracketLeft', 219],
  '\\': ['Backslash', 220],
  ']': ['BracketRight', 221],
  "'": ['Quote', 222],
};

/** What keys type with Shift. */
const SHIFTED: Readonly<Record<string, string>> = {
  '!': '1',
  '@': '2',
  '#': '3',
  $: '4',
  '%': '5',
  '^': '6',
  '&': '7',
  '*': '8',
  '(': '9',
  ')': '0',
  ':': ';',
  '+': '=',
  '<': ',',
  _: '-',
  '>': '.',
  '?': '/',
  '~': '`',
  '{': '[',
  '|': '\\',
  '}': ']',
  '"': "'",
};

/** Other names that are in use for keys. */
const ALIASES: Readonly<Record<string, string>> = {
  Esc: 'Escape',
  Return: 'Enter',
  Del: 'Delete',
  Space: ' ',
  Spacebar: ' ',
  Left: 'ArrowLeft',
  Right: 'ArrowRight',
  Up: 'ArrowUp',
  Down: 'ArrowDown',
  Ctrl: 'Control',
  Cmd: 'Meta',
  Command: 'Meta',
  Option: 'Alt',
};

/** A key with its modifiers. */
export interface Stroke {
  held: Key[];
  modifiers: number;
  key: Key;
}

/** The key that selects all of an editor's text, or goes to its end. */
export function editing(what: 'all' | 'end'): Stroke {
  const isMac = /Mac/.test(navigator.userAgent);
  if (what === 'all') return readStroke(isMac ? 'Meta+a' : 'Control+a');
  return readStroke(isMac ? 'Meta+ArrowDown' : 'Control+End');
}

/**
 * The key that types a character, with Shift where it takes that; undefined where a keyboard has none, and for the
 * space: should the page give the focus to a button meanwhile, that key would press it.
 */
export function keyOf(char: string): Omit<Stroke, 'held'> | undefined {
  if (/^[A-Z]$/.test(char) || char in SHIFTED) {
    const key = readKey(SHIFTED[char] ?? char, 0, char);
    return { modifiers: MODIFIERS.Shift ?? 0, key: { ...key, key: char, text: char } };
  }
  return /^[!-~]$/.test(char) ? { modifiers: 0, key: readKey(char, 0, char) } : undefined;
}

/** Reads `Enter`, `a`, `Control+Shift+K`; what it cannot read is an error that says so. */
export function readStroke(text: string): Stroke {
  const parts =
    text === '+' ? ['+'] : text.endsWith('++') ? [...text.slice(0, -2).split('+'), '+'] : text.split('+');
  const last = parts.pop() ?? '';
  const held: Key[] = [];
  let modifiers = 0;
  for (const part of parts) {
    const name = ALIASES[part] ?? part;
    const key = MODIFIER_KEYS[name];
    if (key === undefined) throw unknown(text);
    held.push(key);
    modifiers |= MODIFIERS[name] ?? 0;
  }
  const name = ALIASES[last] ?? last;
  return { held, modifiers, key: MODIFIER_KEYS[name] ?? readKey(name, modifiers, text) };
}

function readKey(name: string, modifiers: number, whole: string): Key {
  const types = (modifiers & ~8) === 0; // Shift alone still types
  const number = NAMED[name];
  if (number !== undefined) {
    return {
      key: name,
      code: name,
      windowsVirtualKeyCode: number,
      ...(name === 'Enter' && types && { text: '\r' }),
    };
  }
  const f = /^F([1-9]|1\d|2[0-4])$/.exec(name);
  if (f !== null) return { key: name, code: name, windowsVirtualKeyCode: 111 + Number(f[1]) };
  if ([...name].length !== 1) throw unknown(whole);
  // "Control+A" is how people write it; nobody means a capital letter.
  const plain = types ? name : name.toLowerCase();
  const shifted = (modifiers & 8) !== 0 ? name.toUpperCase() : plain;
  const text = types ? { text: shifted } : {};
  if (/^[a-z]$/i.test(name)) {
    const upper = name.toUpperCase();
    return { key: shifted, code: `Key${upper}`, windowsVirtualKeyCode: upper.charCodeAt(0), ...text };
  }
  if (/^\d$/.test(name))
    return { key: name, code: `Digit${name}`, windowsVirtualKeyCode: 48 + Number(name), ...text };
  const [code, virtual] = PUNCTUATION[name] ?? ['', 0];
  return { key: name, code, windowsVirtualKeyCode: virtual, ...text };
}

function unknown(text: string): CodedError {
  return new CodedError(
    CodeInvalid,
    `unknown key "${text}". Use keys such as Enter, Escape, ArrowDown, F5, a, Control+A, Shift+Tab`,
  );
}

/** The bits of several modifiers. */
export function modifierBits(names: readonly string[] = []): number {
  let bits = 0;
  for (const name of names) bits |= MODIFIERS[ALIASES[name] ?? name] ?? 0;
  return bits;
}
