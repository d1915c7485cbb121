/**
 * How parts of an object are written so that none can pass for another: a page chooses its keys, its texts and the
 * names of its classes, and may put into them what reads like more fields.
 */
import { indexOf, slice, unbound } from './natives';
import { CUT } from './records';

/** How long a text in an object may be, in UTF-16 units, as in Chromium's previews. */
const MAX_PART = 100;
const HEAD = MAX_PART / 2;

const exec = unbound(RegExp.prototype.exec);
const plain = /^(?:#?[\p{ID_Start}$_][\p{ID_Continue}$]*|\d+|Symbol\([\w$. -]*\)|\[\[\w+\]\])$/u;
const ambiguous = /[,{}[\]'"`\n\r]/;

/**
 * A text of an object, of a long one its begin and its end, with {@link CUT} where something is left out, be it by
 * Chromium, which leaves an ellipsis in the middle of a text or at the end of it.
 */
export function abbreviated(text: string): string {
  if (text.length > MAX_PART)
    return `${slice(text, 0, HEAD)}${CUT}…${slice(text, text.length - MAX_PART + HEAD + 1)}`;
  if (text.length < MAX_PART) return text;
  const at = text[HEAD] === '…' ? HEAD : MAX_PART - 1;
  return text[at] === '…' ? slice(text, 0, at) + CUT + slice(text, at) : text;
}

/** A text in quotes, with those in it escaped. */
export function quoted(text: string): string {
  if (indexOf(text, "'") < 0 && indexOf(text, '\\') < 0) return `'${text}'`;
  let out = '';
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "'" && text[at] !== '\\') continue;
    out += `${slice(text, from, at)}\\`;
    from = at;
  }
  return `'${out}${slice(text, from)}'`;
}

/** The key of a field: in quotes unless it is an identifier, an index, a plain symbol or a slot of the language. */
export function keyText(name: string, quote = quoted): string {
  const key = abbreviated(name);
  return exec(plain, key) === null ? quote(key) : key;
}

/** What has no quotes by itself, such as an error or the name of a class: in quotes where it could pass for fields. */
export function bare(text: string, quote = quoted): string {
  const short = abbreviated(text);
  return exec(ambiguous, short) === null ? short : quote(short);
}
