/** Secret keys that stand elsewhere than before their separator; a part of redact.ts. */
import { containsAny, keyStrength, MAX_KEY, type PairRules, type Strength } from './keys';
import { MAX_SCHEME, skipSpace, valueAfter } from './pair-value';
import { isSecretValue } from './secret-value';

/** Where a key stands, without its quotes. */
export interface KeyAt {
  from: number;
  to: number;
  quoted: boolean;
}

/** A secret key that stands as a value: `name="password" value="…"`, as forms and lists of headers write it. */
export interface NamedKey {
  key: string;
  strength: Strength;
  /** Where the name ends. */
  end: number;
  /** Counts down the pairs among which the value is looked for. */
  left: number;
}

/**
 * How many pairs after its name a value is looked for. It counts no characters: what was masked in
 * between has another length, and masking twice must be masking once.
 */
const MAX_NAMED = 4;

export function isName(key: string): boolean {
  return /^(?:name|key)$/i.test(key);
}

export function isNamedValue(key: string): boolean {
  return /^(?:value|val|content)$/i.test(key);
}

/** Reads the name behind the separator; undefined when it is no secret key. */
export function namedKey(s: string, sep: number, rules: PairRules): NamedKey | undefined {
  const { from, to } = valueAfter(s, sep, false, '', rules);
  if (from >= to || to - from > MAX_KEY) return undefined;
  const key = s.slice(from, to);
  // A name is nothing in which something was masked: it would be another one the second time.
  if (!/^[A-Za-z0-9_\-.%[\]$ \\\u0080-\uffff]+$/.test(key) || key.includes(rules.mask.slice(0, -1)))
    return undefined;
  let strength = keyStrength(key, rules);
  if (strength === 'innocent' && rules.headers.has(key.toLowerCase())) strength = 'weak';
  return strength === 'innocent' ? undefined : { key, strength, end: to, left: MAX_NAMED + 1 };
}

/**
 * The content of the part of a multipart form that has this name (RFC 7578): between the empty line
 * after the part's headers and the next boundary.
 */
export function formPart(s: string, { end }: NamedKey, key: KeyAt): { from: number; to: number } | undefined {
  const line = s.slice(Math.max(0, key.from - MAX_PART_HEADER), key.from);
  if (!/form-data;[^\n]*$/i.test(line)) return undefined;
  let from = end;
  for (let empty = false; !empty; ) {
    // the rest of the part's headers, line by line
    const next = s.indexOf('\n', from);
    if (next < 0 || s.startsWith('--', from)) return undefined;
    empty = from > end && /^\r*$/.test(s.slice(from, next));
    from = next + 1;
  }
  if (s.startsWith('--', from)) return undefined;
  const boundary = s.indexOf('\n--', from);
  if (boundary < 0) return { from, to: s.length };
  return { from, to: boundary > from && s[boundary - 1] === '\r' ? boundary - 1 : boundary };
}

/** How much of a part's header is read before its name. */
const MAX_PART_HEADER = 300;

const CDATA = '<![CDATA[';

/**
 * The text of an XML element that is named by a secret key: `<wsse:Password Type="…">…</wsse:Password>`. InTag is what its
 * start tag has between the brackets, opening the first one as it is written. The tag ends at `end`. In an element whose
 * name is weak evidence, text with spaces is prose unless it looks like a secret.
 */
export function secretElement(
  s: string,
  inTag: string,
  end: number,
  opening: string,
  rules: PairRules,
): { from: number; to: number } | undefined {
  const escaped = opening.startsWith('\\'); // JSON in JSON has more backslashes
  const tag = escaped ? inTag.replace(/\\+$/, '') : inTag;
  const full = (escaped ? /^[A-Za-z\u0080-\uffff][^ \t\r\n\\]*/ : /^[A-Za-z\u0080-\uffff][^ \t\r\n]*/).exec(
    tag,
  )?.[0];
  if (full === undefined || tag.endsWith('/')) return undefined;
  const name = full.slice(full.lastIndexOf(':') + 1);
  const strength = keyStrength(name, rules);
  if (strength === 'innocent') return undefined;
  let from = skipSpace(s, end);
  let to: number;
  if (s.startsWith(CDATA, from)) {
    from += CDATA.length;
    to = s.indexOf(']]>', from);
    if (to < 0) to = s.length; // it was cut off
  } else {
    const close = s.indexOf(opening, from);
    if (close < 0 || !s.startsWith(`/${full}`, close + opening.length)) return undefined;
    to = from + s.slice(from, close).replace(escaped ? /[ \t\r\n\\]+$/ : /[ \t\r\n]+$/, '').length;
  }
  if (from >= to) return undefined;
  const spaces = /[ \t\r\n]/.test(s.slice(from, to));
  // A custom element's name has a dash, and its text is more often a label.
  const structured = !name.includes('-') && (!spaces || strength === 'strong');
  const looked = strength === 'maybe' ? 'maybe' : 'weak';
  return isSecretValue(s, { from, to, quoted: true }, looked, structured, rules) ? { from, to } : undefined;
}

/**
 * Says whether the key is the last word of a secret key of several words ("API key: …"). It is weak:
 * a sentence may go on behind it.
 */
export function isSpoken(s: string, key: KeyAt, rules: PairRules): boolean {
  if (s[key.from - 1] !== ' ' || !rules.phraseLast.has(s.slice(key.from, key.to).toLowerCase())) return false;
  let from = key.from;
  for (let words = 0; words < 2; words++) {
    let start = from - 1;
    while (start > 0 && /[A-Za-z]/.test(s[start - 1] ?? '') && from - start <= MAX_SCHEME) start--;
    if (from === 0 || s[from - 1] !== ' ' || start === from - 1) return false;
    from = start;
    if (containsAny(` ${s.slice(from, key.to).toLowerCase()} `, rules.phrases)) return true;
  }
  return false;
}
