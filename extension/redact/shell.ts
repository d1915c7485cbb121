/** Words of a shell, which puts their parts together, whatever quotes they are in: pa''ssword="hunter"2; a part of redact.ts. */
import { MAX_KEY } from './keys';
import type { KeyAt } from './named';
import { isKeyChar } from './pair-key';
import { type ValueAt, wordEnd } from './pair-value';

/** How far from its = a quote may divide a key. */
const MAX_DIVIDED = 64;

/** Says whether a text may have a key that quotes divide. */
export function mayDivide(s: string): boolean {
  for (let sep = s.indexOf('='); sep >= 0; sep = s.indexOf('=', sep + 1)) {
    for (let i = sep - 1; i > 0 && sep - i <= MAX_DIVIDED + 1; i--) {
      const quote = isShellQuote(s.charCodeAt(i));
      if (quote && isKeyChar(s.charCodeAt(i - 1))) return true;
      if (!quote && !isKeyChar(s.charCodeAt(i))) break;
    }
  }
  return false;
}

/** The key before a shell's = that quotes divide, by its last part. `plain` is the key without them. */
export function shellKey(s: string, sep: number, part: KeyAt): (KeyAt & { plain: string }) | undefined {
  if (s.charCodeAt(sep) !== EQUALS || !isShellQuote(s.charCodeAt(part.from - 1))) return undefined;
  let from = sep;
  let quotes = 0;
  while (from > 0 && sep - from < MAX_KEY) {
    const c = s.charCodeAt(from - 1);
    if (isShellQuote(c)) quotes++;
    else if (!isKeyChar(c)) break;
    from--;
  }
  if (quotes === 0 || !beginsWord(s, from)) return undefined;
  const word = s.slice(from, sep);
  if (shellWordEnd(word, 0) !== word.length) return undefined;
  return { from, to: sep, quoted: false, plain: word.replace(/["']/g, '') };
}

/** A value with the parts that quotes divide from it. Where it has one, it begins at its first quote. */
export function shellValue(s: string, key: KeyAt, sep: number, value: ValueAt): ValueAt {
  if (s.charCodeAt(sep) !== EQUALS || key.quoted || value.from === value.to) return value;
  const from = value.quoted ? value.from - 1 : value.from;
  if (value.quoted && (from !== sep + 1 || !isShellQuote(s.charCodeAt(from)))) return value;
  const end = value.quoted ? value.to + 1 : value.to;
  if (end >= s.length || !beginsWord(s, key.from)) return value;
  const to = shellWordEnd(s, from);
  if (to <= end || s.charCodeAt(to) === EQUALS) return value;
  return { from, to: wordEnd(s, to), quoted: false }; // as a word without quotes ends
}

/** Where the parts of a word end. A part in quotes is empty or begins with a letter or a digit, and ends in its line. */
function shellWordEnd(s: string, from: number): number {
  for (let i = from; i < s.length; i++) {
    if (!isShellQuote(s.charCodeAt(i))) {
      if (!isOfWord(s.charCodeAt(i))) return i;
      continue;
    }
    const end = s.indexOf(s[i] ?? '', i + 1);
    if (end < 0) return i;
    if (end === i + 1 ? !isOfWord(s.charCodeAt(end + 1)) : !isPart(s, i + 1, end)) return i;
    i = end;
  }
  return s.length;
}

/** Says whether a text in quotes is a part of a word. */
function isPart(s: string, from: number, to: number): boolean {
  return isOfWord(s.charCodeAt(from)) && !/[\r\n\\=:,;{}[\]()<>]/.test(s.slice(from, to));
}

/** Says whether a word of a shell may begin at a place. */
function beginsWord(s: string, at: number): boolean {
  return at === 0 || ' \t\n\r;&|('.includes(s[at - 1] ?? '');
}

const [EQUALS, DOUBLE, SINGLE] = [61, 34, 39];

const isShellQuote = (c: number): boolean => c === DOUBLE || c === SINGLE;

/** The characters that need no quotes in a word, by their codes. */
const word = new Uint8Array(128);
for (let c = 0; c < 128; c++) if (/[A-Za-z0-9_\-.%$/+@~!^*]/.test(String.fromCharCode(c))) word[c] = 1;
const isOfWord = (c: number): boolean => word[c] === 1;
