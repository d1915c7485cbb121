/** The key of a pair: where it stands; a part of redact.ts. */
import { isBlank, isLineEnd } from './hidden';
import { MAX_KEY } from './keys';
import { propertyEnd } from './literals';
import { quoteCodeBefore, quoteMarkBefore } from './marks';
import type { KeyAt } from './named';
import { isQuote } from './quotes';

/** The ASCII characters of keys, by their codes. */
const keyChars = new Uint8Array(128);
for (let c = 0; c < 128; c++) if (/[A-Za-z0-9_\-.%[\]$]/.test(String.fromCharCode(c))) keyChars[c] = 1;

/** Says whether a key may have the character of a code. */
export const isKeyChar = (c: number): boolean => keyChars[c] === 1;

/** How many blanks may stand between a key and its separator. */
const MAX_BLANKS = 16;

/** The code of a character behind its backslash: u0070, u{70}, U00000070, x70, 160, 0160, b for a backspace, or e[ of a color. */
const code = /u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[01][0-7]{2}|b|[eE]\[/y;
/** The code, behind its backslash, of a character that ends a key. */
const ending = /(?:x|u00)(?:2[267Cc]|3[A-Fa-f]|7[BbDd])|u\{(?:2[267Cc]|3[A-Fa-f]|7[BbDd])\}|0(?:46|7[2-7])/y;
/** Such a code in braces, to its end. */
const braced = /\\u\{[0-9A-Fa-f]{1,6}\}$/;
const MAX_BRACED = 10;

/** Finds the key that ends at the separator. */
export function keyBefore(s: string, sep: number): KeyAt {
  const last = s.charCodeAt(sep - 1);
  let to = sep;
  let quoted = last === 34 && keyChars[s.charCodeAt(sep - 2)] === 1; // as most are
  if (quoted) to--;
  else if (keyChars[last] !== 1 || last === 93 || quoteCodeBefore(s, sep) > 0)
    ({ to, quoted } = endOfKey(s, sep));
  let from = to;
  while (from > 0 && to - from < MAX_KEY) {
    const c = s.charCodeAt(from - 1);
    if (keyChars[c] !== 1 && !isOfKey(s, c, from, to)) {
      if (c === 92) from += endingAt(s, from, to);
      break;
    }
    from--;
  }
  return { from, to, quoted };
}

/** Where the key ends that stands before a separator, and whether it is in quotes. */
function endOfKey(s: string, sep: number): { to: number; quoted: boolean } {
  let to = sep;
  const last = s.charCodeAt(to - 1);
  if (last <= 32 || last > 126) {
    to = skipBlanksBefore(s, sep, false);
    const lines = skipBlanksBefore(s, sep, true);
    if (isQuote(s[lines - 1])) to = lines; // only a quoted key may be on another line
  }
  to = propertyEnd(s, to);
  const mark = quoteMarkBefore(s, to);
  const quoted = mark > 0 || isQuote(s[to - 1]);
  if (mark > 0) {
    to -= mark;
  } else if (quoted) {
    to--;
    while (to > 0 && s[to - 1] === '\\') to--;
    to = signsBefore(s, to);
  } else {
    while (s.charCodeAt(to - 1) === 42) to--; // **password**: in Markdown
  }
  return { to, quoted };
}

/** Where a key in quotes ends that has signs behind it, as labels of fields do: "Password *". */
function signsBefore(s: string, end: number): number {
  if (keyChars[s.charCodeAt(end - 1)] === 1) return end;
  let bare = end;
  while (bare > 0 && ' *?!:'.includes(s[bare - 1] ?? '')) bare--;
  if (bare === end) return end;
  let from = bare;
  while (from > 0 && (s.charCodeAt(from - 1) > 127 || keyChars[s.charCodeAt(from - 1)] === 1)) from--;
  return isQuote(s[from - 1]) ? bare : end;
}

/** Says whether the character before `from`, of code c, belongs to a key that ends at `to` though it is unusual. */
function isOfKey(s: string, c: number, from: number, to: number): boolean {
  if (c > 127) return !isBlank(s[from - 1]);
  if (c === 125) return braced.test(s.slice(Math.max(0, from - MAX_BRACED), from));
  if ((c !== 92 && c !== 123) || from === to) return false;
  if (c === 92 && s[from] === '\\') return true;
  if (c === 123 && s[from - 3] !== '\\') return false;
  code.lastIndex = c === 123 ? from - 2 : from;
  return code.test(s) && code.lastIndex <= to && (c === 123 || endingAt(s, from, to) === 0);
}

/** The length of the code of a character that ends a key, behind the backslash before `from`; 0 for none. */
function endingAt(s: string, from: number, to: number): number {
  ending.lastIndex = from;
  return ending.test(s) && ending.lastIndex <= to ? ending.lastIndex - from : 0;
}

export function skipBlanksBefore(s: string, end: number, lines: boolean): number {
  let i = end;
  while (end - i < MAX_BLANKS && (isBlank(s[i - 1]) || (lines && isLineEnd(s[i - 1])))) i--;
  return i;
}
