/** The texts of elements of XML that are secret by a name; a part of redact.ts. */
import { isLetter, keyStrength, type PairRules, type Strength } from './keys';
import { type NamedKey, nameStrength } from './named';
import { skipSpace } from './quotes';
import { isSecretValue } from './secret-value';

interface Range {
  from: number;
  to: number;
}

/** A start tag: where it begins and ends, and its brackets as they are written. */
export interface StartTag extends Range {
  opening: string;
  closing: string;
}

/** Elements that name the value in the next one, as in property lists of Apple: <key>password</key><string>…</string>. */
const named = /^(?:key|name)$/i;

/** Elements that have a value for the element around them, or for the name before them. */
const valued = /^(?:value|val|string|integer|int|i4|data|base64)$/i;

/** How many of them may be in each other, and how long their tags are. */
const MAX_VALUED = 3;
const MAX_TAG = 100;

/** The length of the longest name of a value. */
const MAX_NAME = 64;

/** What may stand between two elements, in JSON too. */
const between = /(?:[ \t\r\n]|\\+[nrt])*/y;

/**
 * The text of an XML element that is named by a secret key, `<wsse:Password Type="…">…</wsse:Password>`, or of the one behind
 * such a name. In an element whose name is weak evidence, text with spaces is prose unless it looks like a secret. So is all text
 * in an element that has the key as an attribute: <property name="password">…</property>.
 */
export function secretElement(
  s: string,
  tag: StartTag,
  attribute: NamedKey | undefined,
  rules: PairRules,
): Range | undefined {
  const first = s.charCodeAt(tag.from + tag.opening.length);
  if (!isLetter(first) && !(first > 127)) return undefined;
  const names = (first | 32) === 107 || (first | 32) === 110;
  if (
    (attribute === undefined || attribute.strength === 'innocent') &&
    !names &&
    !rules.stems.in(s, tag.from, tag.to)
  )
    return undefined;
  const full = tagName(s, tag);
  if (full === undefined) return undefined;
  const name = full.slice(full.lastIndexOf(':') + 1);
  const own = keyStrength(name, rules);
  const strength = own === 'innocent' ? (attribute?.strength ?? own) : own;
  if (strength !== 'innocent') {
    const text = textOf(s, tag, full, MAX_VALUED);
    // A custom element's name has a dash, and its text is more often a label.
    return secretText(s, text, strength, own !== 'innocent' && !name.includes('-'), rules);
  }
  if (!named.test(full)) return undefined;
  const key = textOf(s, tag, full, 0);
  if (key === undefined || key.to - key.from > MAX_NAME) return undefined;
  const keyed = nameStrength(s.slice(key.from, key.to), rules);
  if (keyed === 'innocent') return undefined;
  const value = valueTag(s, s.indexOf(tag.closing, key.to) + tag.closing.length, tag);
  return value && secretText(s, textOf(s, value, value.name, MAX_VALUED - 1), keyed, true, rules);
}

/** The name in a start tag; undefined where there is none. */
function tagName(s: string, { from, to, opening }: StartTag): string | undefined {
  const escaped = opening.startsWith('\\'); // JSON in JSON has more backslashes
  const inTag = s.slice(from + opening.length, to);
  const tag = escaped ? inTag.replace(/\\+$/, '') : inTag;
  if (tag.endsWith('/')) return undefined;
  return (escaped ? /^[A-Za-z\u0080-\uffff][^ \t\r\n\\]*/ : /^[A-Za-z\u0080-\uffff][^ \t\r\n]*/).exec(
    tag,
  )?.[0];
}

/** The start tag of a value that follows, with brackets like those of another tag. */
function valueTag(s: string, from: number, like: StartTag): (StartTag & { name: string }) | undefined {
  between.lastIndex = from;
  between.test(s);
  let at = between.lastIndex;
  while (s[at] === '\\' && s[at + 1] === '\\') at++;
  if (!s.startsWith(like.opening, at)) return undefined;
  const to = at + s.slice(at, at + MAX_TAG).indexOf(like.closing);
  if (to < at) return undefined;
  const tag = { from: at, to, opening: like.opening, closing: like.closing };
  const name = tagName(s, tag);
  return name !== undefined && valued.test(name) ? { ...tag, name } : undefined;
}

const CDATA = '<![CDATA[';

/** The text of an element, or of the value in it. */
function textOf(s: string, tag: StartTag, full: string, depth: number): Range | undefined {
  const from = skipSpace(s, tag.to + tag.closing.length);
  if (s.startsWith(CDATA, from)) {
    const to = s.indexOf(']]>', from);
    return { from: from + CDATA.length, to: to < 0 ? s.length : to }; // it may be cut off
  }
  const value = depth > 0 ? valueTag(s, from, tag) : undefined;
  if (value !== undefined) return textOf(s, value, value.name, depth - 1);
  const close = s.indexOf(tag.opening, from);
  if (close < 0) return { from, to: s.length }; // it may be cut off
  if (!s.startsWith(`/${full}`, close + tag.opening.length)) return undefined;
  const space = tag.opening.startsWith('\\') ? /[ \t\r\n\\]+$/ : /[ \t\r\n]+$/;
  return { from, to: from + s.slice(from, close).replace(space, '').length };
}

/** Returns the text of an element if it is a secret. */
function secretText(
  s: string,
  text: Range | undefined,
  strength: Strength,
  named: boolean,
  rules: PairRules,
): Range | undefined {
  if (text === undefined || text.from >= text.to) return undefined;
  const spaces = /[ \t\r\n]/.test(s.slice(text.from, text.to));
  const cut = text.to === s.length && !s.endsWith(CDATA, text.from);
  // What stands behind the name of an element in a sentence is no value.
  if (cut && spaces) return undefined;
  const structured = named && !cut && (!spaces || strength === 'strong');
  const looked = strength === 'maybe' ? 'maybe' : 'weak';
  return isSecretValue(s, { ...text, quoted: true }, looked, structured, rules) ? text : undefined;
}
