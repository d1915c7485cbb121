/** Assignments and declarations with a type, as programs have them; a part of redact.ts. */
import type { KeyAt } from './named';
import { keyBefore } from './pair-key';
import { isQuote, skipSpace } from './quotes';

/** The type of a declared variable behind its colon, up to the sign of its value: Rust's : &'static str = "x". */
const declared =
  /[ \t]*(?:&(?:'[a-z]+ )?(?:mut )?)?(?:(?:[A-Za-z.]+[<[])?(?:[sS]tring|str|[bB]ytes|SecretStr|CharSequence|Text|any|unknown|Any|Final)[>\]]?(?:\[\])?[?!]?(?:[ \t]*\|[ \t]*(?:None|null|undefined|number|string|str|bytes))*[ \t]*=[ \t]*(?:\r?\n[ \t]*)?|[A-Z][\w.]*(?:<[^<>=\n]{0,40}>)? =(?: |\r?\n[ \t]*))(?:[bBuUrRfFLNE@$]|[rR][bB]|[bB][rR]|u8|[A-Z]\w*\()?\\*["'`]/y;

/** Where the = of a declaration is whose colon is at a place: password: string = "x". It is `sep` for others. */
export function declaredSign(s: string, sep: number): number {
  if (s.charCodeAt(sep) !== 58) return sep;
  declared.lastIndex = sep + 1;
  return declared.test(s) ? s.lastIndexOf('=', declared.lastIndex - 1) : sep;
}

/** The types that Go writes between a variable and the sign of its value: var password string = "x". */
const types: ReadonlySet<string> = new Set(['string', '[]byte', '[]string']);

/**
 * The key before a separator, also before operators (?=, +=, ||=), of optional fields (apiKey?:) and in declarations as Go has
 * them. These are `sure`: a key that is not secret says nothing.
 */
export function assignedKey(s: string, sep: number): { key: KeyAt; sure: boolean } {
  if (s[sep] === ':' && sep > 1 && s[sep - 1] === '?') {
    // An optional field of TypeScript, which has a type otherwise.
    if (isQuote(s[skipSpace(s, sep + 1)]) || declaredSign(s, sep) > sep) {
      return { key: keyBefore(s, sep - 1), sure: true };
    }
  }
  if (s.charCodeAt(sep) !== 61 || sep < 2) return { key: keyBefore(s, sep), sure: false };
  const c = s[sep - 1];
  if (c === '?' || c === '+' || c === '|') {
    const at = s[sep - 2] === c ? sep - 2 : sep - 1;
    if (at > 0 && /[ \tA-Z]/.test(s[at - 1] ?? '')) return { key: keyBefore(s, at), sure: true };
  }
  const key = keyBefore(s, sep);
  const typed =
    key.from > 1 && s[key.from - 1] === ' ' && !key.quoted && types.has(s.slice(key.from, key.to));
  if (!typed || !isQuote(s[skipSpace(s, sep + 1)])) return { key, sure: false };
  return { key: keyBefore(s, key.from), sure: true };
}
