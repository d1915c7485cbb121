/**
 * Messages about a secret where the secret would be: {"password": ["is too short"]}; a part of redact.ts. They have only
 * words of a list, so that nothing which they leave readable can be the secret.
 */
import type { PairRules } from './keys';
import { type ValueAt, wordEnd } from './pair-value';
import { closingQuote, skipSpace } from './quotes';

const MAX_MESSAGE = 200;

/** Says whether a value is a message about a secret, or a list of messages. */
export function isMessage(s: string, { from, to, quoted }: ValueAt, rules: PairRules): boolean {
  const value = s.slice(from, to);
  if (quoted) return countWords(value, rules) > 1;
  if (value.startsWith('[')) return areMessages(value, rules);
  const first = !value.includes(' ') && s[to] === ' '; // the first word of free text
  return countWords(first ? s.slice(from, wordEnd(s, to + 1)) : value, rules) > 1;
}

/** Says whether a JSON array has only messages. */
function areMessages(list: string, rules: PairRules): boolean {
  for (let i = 0; ; ) {
    i = skipSpace(list, i + 1); // behind the bracket or the comma
    if (list[i] !== '"') return false;
    const end = closingQuote(list, i + 1, '"', 0);
    if (!isListedMessage(list.slice(i + 1, end), rules)) return false;
    i = skipSpace(list, end + 1);
    if (list[i] !== ',') return i === list.length - 1 && list[i] === ']';
  }
}

/** Says whether a text of a list is a message, which one word may be that begins a sentence. */
export function isListedMessage(text: string, rules: PairRules): boolean {
  const n = countWords(text, rules);
  return n > 1 || (n === 1 && rules.prose.has(trimWord(text).toLowerCase()));
}

/** Counts the words of a message without its numbers; 0 when any is not of the list. */
function countWords(s: string, rules: PairRules): number {
  if (s.length > MAX_MESSAGE) return 0;
  let n = 0;
  for (const part of s.split(' ')) {
    const word = trimWord(part);
    if (/^\d{0,2}$/.test(word)) continue;
    if (!rules.words.has(word.toLowerCase())) return 0;
    n++;
  }
  return n;
}

/** Removes the punctuation around a word. */
const trimWord = (s: string): string => s.replace(/^[().,:;!?'`]+|[().,:;!?'`]+$/g, '');
