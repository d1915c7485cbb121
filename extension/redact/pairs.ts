/** Masks the values of secret keys in `key: value` and `key=value`; the larger part of redact.ts. */
import { isOpen, keyStrength, MAX_KEY, type PairRules } from './keys';
import { isMessage } from './messages';
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
import { isQuote, isSecretValue, quoteEntities, valueAfter } from './pair-value';

const isKeyChar = /[A-Za-z0-9_\-.%[\]$]/;
/**
 * Masks the values of secret keys from `at` on, quoted or not, with any level of backslashes before
 * the quotes (JSON inside JSON); in `name="key" value="…"`; in parts of a form named by a secret key;
 * and in `<key>value</key>`. Strict is for structured data.
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
  let tag = -1; // where a start tag has begun
  for (let i = at; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c === 60) tag = i;
    if (c === 62 && tag >= 0) {
      const element = secretElement(s, tag, i, rules);
      if (element !== undefined) i = mask(element.from, element.to);
      tag = -1;
    }
    if (c !== 58 && c !== 61) continue;
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
        if (part !== undefined && part.from < part.to && !s.startsWith(rules.mask, part.from)) {
          i = mask(part.from, part.to);
        }
        continue;
      } else if (named !== undefined && isNamedValue(text) && named.left > 0) {
        strength = named.strength;
      } else {
        continue;
      }
    }
    const before = s[key.from - 1] ?? '';
    const inside = isInStructure(s, key, i, before, strict);
    const value = valueAfter(s, i, inside, before, rules);
    const structured = inside || (key.quoted && value.quoted);
    if (s[value.from] === '{' && !value.quoted && isOpen(text, rules)) continue;
    if (value.from >= value.to || !isSecretValue(s, value, strength, structured, rules)) continue;
    if (isMessage(s, value, rules)) continue;
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

/** Finds the key that ends at the separator. */
function keyBefore(s: string, sep: number): KeyAt {
  let to = sep;
  while (to > 0 && (s[to - 1] === ' ' || s[to - 1] === '\t') && sep - to < 3) to--;
  let quoted = false;
  if (to > 0 && isQuote(s[to - 1])) {
    quoted = true;
    to--;
    while (to > 0 && s[to - 1] === '\\') to--;
  } else if (s[to - 1] === ';') {
    const entity = quoteEntities.find((e) => s.endsWith(e, to));
    quoted = entity !== undefined;
    to -= entity?.length ?? 0;
  }
  let from = to;
  while (from > 0 && to - from < MAX_KEY && isKeyChar.test(s[from - 1] ?? '')) from--;
  return { from, to, quoted };
}
