/** Masks the values of secret keys in `key: value` and `key=value`; the larger part of redact.ts. */
import { isLineEnd } from './hidden';
import { endsInAny, isOpen, keyStrength, type PairRules } from './keys';
import { pairInArray, secretTexts } from './lists';
import { angleAt } from './marks';
import {
  formPart,
  isName,
  isNamedValue,
  isSpoken,
  type KeyAt,
  type NamedKey,
  namedKey,
  secretElement,
} from './named';
import { keyBefore } from './pair-key';
import { isCount, valueAfter, withoutPlace } from './pair-value';
import { isSchema, isSecretValue } from './secret-value';

/** What ends a value of a connection string. */
const CONNECTION_END = /[; \t\r\n"'`]/g;

/** Says whether a key is one of a connection string, Server=db;Password=a&b. In HTML, ; may end an & that is escaped. */
function isConnection(s: string, key: number): boolean {
  return s[key - 1] === ';' && !/&(?:amp|#38|#x26);$/.test(s.slice(Math.max(0, key - 6), key));
}

/** Separators as texts in Chinese and Japanese have them. */
const [WIDE_COLON, WIDE_EQUALS] = [0xff1a, 0xff1d];

/**
 * Masks the values of secret keys from `at` on, quoted or not, with any level of backslashes before
 * the quotes (JSON inside JSON); in `name="key" value="…"`; in parts of a form named by a secret key;
 * and in `<key>value</key>`. Quotes and angle brackets may be escaped (marks.ts). Strict is for structured data.
 */
export function maskPairs(
  s: string,
  at: number,
  strict: boolean,
  rules: PairRules,
): { text: string; masked: number } {
  let out = '';
  let copied = 0;
  let masked = 0;
  let named: NamedKey | undefined;
  const mask = (from: number, to: number): number => {
    out += s.slice(copied, from) + rules.mask;
    copied = to;
    masked++;
    return to - 1;
  };
  let first = false; // whether no comma has come since an array began
  let tag: { at: number; opening: string } | undefined; // where a start tag has begun, and its bracket
  for (let i = at; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c === 60 || c === 62 || c === 38 || c === 92) {
      const angle = angleAt(s, i);
      if (angle?.opens) tag = { at: i, opening: angle.bracket };
      else if (angle !== undefined && tag !== undefined) {
        const full = s.slice(tag.at + tag.opening.length, i);
        const element = secretElement(s, full, i + angle.bracket.length, tag.opening, rules);
        if (element !== undefined) i = mask(element.from, element.to);
        tag = undefined;
      }
      continue;
    }
    if (c === 91) first = true;
    if (c === 44) {
      const value = first ? pairInArray(s, i, rules) : undefined;
      if (value !== undefined) i = mask(value.from, value.to);
      first = false;
      continue;
    }
    if (c !== 58 && c !== 61 && c !== WIDE_COLON && c !== WIDE_EQUALS) continue;
    const key = keyBefore(s, i);
    if (key.from === key.to) continue;
    if (named !== undefined) named.left--;
    const text = s.slice(key.from, key.to);
    let strength = keyStrength(text, rules);
    if (strength === 'innocent') {
      if (isSpoken(s, key, rules)) {
        strength = 'weak';
      } else if (isName(text)) {
        named = namedKey(s, i, rules);
        const part = named && formPart(s, named, key);
        if (part !== undefined && part.from < part.to && s.slice(part.from, part.to) !== rules.mask) {
          i = mask(part.from, part.to);
        }
        continue;
      } else if (named !== undefined && isNamedValue(text) && named.left > 0) {
        strength = named.strength;
      } else {
        continue;
      }
    }
    if (c === 58 && !key.quoted && strength !== 'innocent' && endsInAny(text, rules.codeFiles)) {
      strength = 'maybe';
    }
    const before = s[key.from - 1] ?? '';
    const inside = isInStructure(s, key, i, before, strict);
    const value = valueAfter(s, i, inside, before, rules);
    if (value.from === value.to && s[value.from] === '[') {
      const end = secretTexts(s, value.from, key.quoted, strength, rules);
      if (end !== undefined) i = mask(value.from, end);
      continue;
    }
    // a field of a form of text/plain
    if (strict && !value.quoted && c === 61 && (before === '' || before === '\n') && s[value.to] === ' ') {
      while (value.to < s.length && !isLineEnd(s[value.to])) value.to++;
    }
    if (!value.quoted && c === 61 && isConnection(s, key.from)) {
      CONNECTION_END.lastIndex = value.to;
      value.to = CONNECTION_END.exec(s)?.index ?? s.length;
    }
    // an address in a frame
    if (!value.quoted && (before === '?' || before === '&') && s[value.to] === ')') {
      value.to = withoutPlace(s, value.from, value.to);
    }
    // a page or a file without an extension
    if (c === 58 && before === '/' && value.from === i + 1 && withoutPlace(s, i, value.to) === i) continue;
    const structured = inside || (key.quoted && value.quoted);
    if (s[value.from] === '{' && !value.quoted) {
      const path = key.quoted && before === '/';
      if (path || isOpen(text, rules) || isSchema(s.slice(value.from, value.to), rules)) continue;
    }
    if (isCount(text, s, value, rules)) continue;
    if (value.from >= value.to || !isSecretValue(s, value, strength, structured, rules)) continue;
    i = mask(value.from, value.to);
  }
  return masked === 0 ? { text: s, masked } : { text: out + s.slice(copied), masked };
}

/**
 * Says whether a key is one of structured data: in quotes in JSON, a parameter of an address, a field
 * of a form. What JSON has in its strings may be prose.
 */
function isInStructure(s: string, key: KeyAt, sep: number, before: string, strict: boolean): boolean {
  if (key.quoted) return strict;
  switch (before) {
    case '?':
    case '&':
    case '#':
      return true;
    case '':
    case ';':
    case '{':
    case ',':
      return strict;
    case '\n':
      return strict && s[sep] === '=';
    default:
      return false;
  }
}
