/** The key of a pair: where it stands; a part of redact.ts. */
import { isBlank, isLineEnd } from './hidden';
import { MAX_KEY } from './keys';
import { quoteMarkBefore } from './marks';
import type { KeyAt } from './named';
import { isQuote } from './pair-value';

/** The ASCII characters of keys, by their codes. */
const keyChars = new Uint8Array(128);
for (let c = 0; c < 128; c++) if (/[A-Za-z0-9_\-.%[\]$]/.test(String.fromCharCode(c))) keyChars[c] = 1;

/** How many blanks may stand between a key and its separator. */
const MAX_BLANKS = 16;

/** A JSON escape behind its backslash. */
const unit = /u[0-9A-Fa-f]{4}/y;

/** Finds the key that ends at the separator. */
export function keyBefore(s: string, sep: number): KeyAt {
  let to = sep;
  const last = s.charCodeAt(to - 1);
  if (last <= 32 || last > 126) {
    to = skipBlanksBefore(s, sep, false);
    const lines = skipBlanksBefore(s, sep, true);
    if (isQuote(s[lines - 1])) to = lines; // only a quoted key may be on another line
  }
  const mark = quoteMarkBefore(s, to);
  const quoted = mark > 0 || isQuote(s[to - 1]);
  if (mark > 0) {
    to -= mark;
  } else if (quoted) {
    to--;
    while (to > 0 && s[to - 1] === '\\') to--;
  }
  let from = to;
  while (from > 0 && to - from < MAX_KEY) {
    const c = s.charCodeAt(from - 1);
    if (keyChars[c] !== 1 && !isOfKey(s, c, from, to)) break;
    from--;
  }
  return { from, to, quoted };
}

/** Says whether the character before `from`, of code c, belongs to a key that ends at `to` though it is unusual. */
function isOfKey(s: string, c: number, from: number, to: number): boolean {
  if (c > 127) return !isBlank(s[from - 1]);
  if (c !== 92 || from === to) return false;
  if (s[from] === '\\') return true;
  unit.lastIndex = from;
  return unit.test(s) && unit.lastIndex <= to;
}

function skipBlanksBefore(s: string, end: number, lines: boolean): number {
  let i = end;
  while (end - i < MAX_BLANKS && (isBlank(s[i - 1]) || (lines && isLineEnd(s[i - 1])))) i--;
  return i;
}
