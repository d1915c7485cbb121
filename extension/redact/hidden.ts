/** Characters that a reader does not see; a part of redact.ts. */
import { SHOWS_NOTHING } from '../clean';

/** What must not hide a key or divide a token. White space stays, and so does U+0013, the mark of a cut. */
const hidden = new RegExp(String.raw`(?![\t-\r\u0013])${SHOWS_NOTHING}`, 'u');
const allHidden = new RegExp(String.raw`\u001b\[[ -?]*[@-~]?|${hidden.source}`, 'gu');

/** Masks a text without its hidden characters, with `mask`. Where nothing is masked, the text stays as it is. */
export function withoutHidden<T extends { text: string; masked: number }>(
  text: string,
  mask: (shown: string) => T,
): T {
  if (!mayHide(text) || !hidden.test(text)) return mask(text);
  const found = mask(text.replace(allHidden, ''));
  return found.masked > 0 ? found : { ...found, text };
}

/** Says whether a text has other characters than printable ASCII and white space. */
function mayHide(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 32 ? c < 9 || c > 13 : c > 126) return true;
  }
  return false;
}

const blank = /[ \t\v\f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/;

/** Says whether a blank stands there. Line ends are none. */
export function isBlank(c: string | undefined): boolean {
  if (c === undefined || c === '') return false;
  return c === ' ' || c === '\t' || ((c < ' ' || c > '~') && blank.test(c));
}

export function isLineEnd(c: string | undefined): boolean {
  return c === '\n' || c === '\r';
}
