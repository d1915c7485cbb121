/** Values as literals and dumps of languages have them; a part of redact.ts. */
import { closingQuote, isQuote, skipSpace } from './quotes';

/**
 * What languages write between a key and the quote of its value: Python's b'x', PHP's string(1) "x", Go's (string) (len=1) "x"
 * and []byte("x"), Rust's Some("x"), Haskell's Just "x", JavaScript's process.env.X || "x", and the String {"x"} of browsers. A
 * bracket is group 1.
 */
const literal =
  /(?:[bBuUrRfFLNE@$]|[rR][bB]|[bB][rR]|u8|[ \t\r\n\f]*string\(\d+\) |(?:\([\w.*]+\) ){1,2}|(?:\([\w.*]+\) )?\(len=\d+\) |Just |Some |[A-Za-z_$][\w.$]*[ \t]*(?:\|\||\?\?)[ \t]*|((?:[A-Z][\w:.]*\([ \t\r\n\f]*)+|\[\]byte\(|[A-Z]\w* \{))(\\*)["'`]/y;

/** How PHP begins a number. */
const phpNumber = /[ \t\r\n\f]*(?:int|float|bool)\(/y;

/** Where the quote of a value is that a literal has, i where there is none. */
export function insideLiteral(s: string, i: number): number {
  const c = s.charCodeAt(i);
  const starts = (c >= 97 && c <= 122) || (c >= 64 && c <= 90) || c === 36 || c === 40 || c === 10;
  if (!starts && !s.startsWith('[]byte(', i)) return i;
  phpNumber.lastIndex = i;
  if (phpNumber.test(s)) return phpNumber.lastIndex;
  literal.lastIndex = i;
  const found = literal.exec(s);
  if (found === null) return i;
  const [whole, bracket, slashes = ''] = found;
  const quote = i + whole.length - 1;
  if (bracket !== undefined) {
    let end = closingQuote(s, quote + 1, s[quote] ?? '', slashes.length) + slashes.length + 1;
    if (end < s.length) {
      end = skipSpace(s, end);
      if (s[end] === ',') end = skipSpace(s, end + 1);
      if (end < s.length && s[end] !== ')' && s[end] !== '}') return i; // a call with more than one argument
    }
  }
  return quote - slashes.length;
}

/**
 * Where the key of an element or a property ends, with its quote: ["password"]=>, [password:protected] => and Symbol(password):.
 * It is `end` for other keys.
 */
export function propertyEnd(s: string, end: number): number {
  if (s.charCodeAt(end - 1) === 41) {
    const from = Math.max(0, end - MAX_CLASS);
    const open = s.slice(from, end).lastIndexOf('(');
    return open > 0 && s.endsWith('Symbol', from + open) ? end - 1 : end;
  }
  if (s.charCodeAt(end - 1) !== 93) return end;
  if (isQuote(s[end - 2])) return end - 1;
  if (s.endsWith(':protected]', end)) return end - ':protected]'.length;
  if (!s.endsWith(':private]', end)) return end;
  const rest = end - ':private]'.length;
  let at = rest;
  while (at > 0 && rest - at < MAX_CLASS && /[\w\\"']/.test(s[at - 1] ?? '')) at--;
  return s[at - 1] === ':' ? at - 1 : end;
}

/** How long the name of a class is that is looked for. */
const MAX_CLASS = 64;

/** What PHP writes between a property and its bracket. */
const visibility = /(?:["'\\]*[\w\\]+["'\\]*:)?(?:private|protected)\]/y;

/** Says whether it stands there who may see a property, instead of its value. */
export function isVisibility(s: string, i: number): boolean {
  visibility.lastIndex = i;
  return visibility.test(s);
}
