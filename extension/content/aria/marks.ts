/** Words that mean something else than the same words unmarked: `Was $100 $80`, `102`. */

import { attribute } from '../dom';

/** What stands before and after the words of an element. */
const MARKS: ReadonlyMap<string, readonly [before: string, after: string]> = new Map([
  ['del', ['~', '~']],
  ['s', ['~', '~']],
  ['ins', ['+', '+']],
  ['mark', ['==', '==']],
  ['sub', ['_', '']],
  ['sup', ['^', '']],
]);

/** Marks without which words say the opposite: a name that lacks them does not say the same. */
const DECISIVE = new Set(['del', 's', 'ins']);

/** A run of text as it is shown, and as names say it. */
export interface Words {
  shown: string;
  named: string;
}

/** Roles that mark words as tags do. */
const ROLES: ReadonlyMap<string, string> = new Map([
  ['deletion', 'del'],
  ['insertion', 'ins'],
  ['mark', 'mark'],
  ['subscript', 'sub'],
  ['superscript', 'sup'],
]);

/** Whether an element of a tag marks its words. */
export function isMark(tag: string): boolean {
  return MARKS.has(tag);
}

/** The tag as which an element marks its words: its own, or that of its role; "" for none. */
export function markOf(element: Element, tag: string): string {
  return isMark(tag) ? tag : (ROLES.get(attribute(element, 'role')) ?? '');
}

/** Marks the end of a run of text, from where the words of an element begin. */
export function mark(tag: string, words: Words, from: Words): void {
  words.shown = from.shown + marked(tag, words.shown.slice(from.shown.length));
  if (DECISIVE.has(tag)) words.named = from.named + marked(tag, words.named.slice(from.named.length));
}

/** The words of an element with its marks; white space around them stays outside. */
function marked(tag: string, text: string): string {
  const [before, after] = MARKS.get(tag) ?? ['', ''];
  const words = text.trim();
  if (words === '') return text;
  const at = text.indexOf(words);
  // Without an end the mark reaches to the next space only.
  const whole = after === '' && /[^\p{L}\p{N}.,*†‡+−-]/u.test(words) ? `(${words})` : words;
  return text.slice(0, at) + before + whole + after + text.slice(at + words.length);
}
