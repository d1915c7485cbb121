/** Masks the values of secret keys in `key: value` and `key=value`; the larger part of redact.ts. */
import { assignedKey, declaredSign } from './declared';
import { type StartTag, secretElement } from './elements';
import { isLineEnd } from './hidden';
import { endsInAny, isOpen, isSecretStrength, keyStrength, MAX_KEY, type PairRules } from './keys';
import { pairInArray, secretObject, secretTexts } from './lists';
import { isVisibility } from './literals';
import { angleAt, separatorAt } from './marks';
import {
  formPart,
  isNaming,
  isSpoken,
  type KeyAt,
  labelAt,
  type NamedKey,
  namedKey,
  nameOf,
  nextName,
} from './named';
import { isCount, isDirectory, type ValueAt, valueAfter, valueBelow, withoutPlace } from './pair-value';
import { isQuote } from './quotes';
import { isMasked, isSchema, isSecretValue } from './secret-value';
import { mayDivide, shellKey, shellValue } from './shell';

/** What ends a value of a connection string. */
const CONNECTION_END = /[; \t\r\n"'`]/g;

/** Says whether a key is one of a connection string, Server=db;Password=a&b. In HTML, ; may end an & that is escaped. */
function isConnection(s: string, key: number): boolean {
  return s[key - 1] === ';' && !/&(?:amp|#38|#x26);$/.test(s.slice(Math.max(0, key - 6), key));
}

/** Separators as texts in Chinese and Japanese have them. */
const [WIDE_COLON, WIDE_EQUALS] = [0xff1a, 0xff1d];

/** Says whether the quote before a value is the one that ends a text which the key begins: log('password:', x). */
function endsString(s: string, before: string, { from, quoted }: ValueAt): boolean {
  return quoted && isQuote(before) && s[from - 1] === before && /[ ,);+:=]/.test(s[from] ?? '');
}

/** Says whether a key and the text after it are the address of a link in Markdown: [auth]: https://… */
function isReference(key: string, s: string, after: number): boolean {
  return key.startsWith('[') && key.endsWith(']') && s.startsWith('http', after);
}

/** How many pairs a text has that is searched for stems of a secret key: in fewer, only the keys are. */
const FEW = 4;

/** Says whether a key is a part of an object with a short name, as in minified code: e.cookies=t. */
function isMember(key: string): boolean {
  return key[1] === '.' && /[A-Za-z_$]/.test(key[0] ?? '');
}

/** A variable of minified code, perhaps with what a condition has after it. */
const shortVariable = /^[A-Za-z_$][\w$]?(?::[A-Za-z_$][\w$]?\.[\w$.]*\[?)?$/;

/**
 * Says whether a value is a variable of minified code, in an object or after a key in brackets: {password:e},
 * h["x-api-key"]=e. Dumps of Go have such objects too, where keys begin with a capital letter.
 */
function isShortVariable(s: string, key: KeyAt, sep: number, { from, to }: ValueAt): boolean {
  if (from !== sep + 1 || to === s.length || key.from === 0) return false;
  if (!shortVariable.test(s.slice(from, to))) return false;
  const last = s[sep - 1];
  if (s[sep] === '=') return key.quoted && last === ']';
  if (s[to] !== ',' && s[to] !== '}') return false;
  const before = s[key.from - 1];
  return (
    (key.quoted && isQuote(last)) || ((before === '{' || before === ',') && !/[A-Z]/.test(s[key.from] ?? ''))
  );
}

/** The characters at which {@link maskPairs} stops, by their codes. */
const signs = new Uint8Array(128);
for (const c of '<>&\\[({},:=') signs[c.charCodeAt(0)] = 1;

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
  let pairs = 0; // and tags
  let first = false; // whether no comma has come since an array began
  let tag: StartTag | undefined; // where a start tag has begun, and its bracket
  for (let i = at; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 128 ? signs[c] === 0 : c !== WIDE_COLON && c !== WIDE_EQUALS) continue;
    if (c === 91 || c === 40) {
      first = true;
      continue;
    }
    if (c === 123 || c === 125) {
      if (named !== undefined && named.depth >= 0) named.depth += 124 - c;
      continue;
    }
    if (c === 44) {
      const value = first ? pairInArray(s, i, rules) : undefined;
      if (value !== undefined) i = mask(value.from, value.to);
      first = false;
      continue;
    }
    if (++pairs === FEW && !rules.stems.in(s, at, s.length) && !mayDivide(s)) break;
    const escaped = separatorAt(s, i);
    if ((c === 60 || c === 62 || c === 38 || c === 92) && escaped === 0) {
      const angle = angleAt(s, i);
      if (angle?.opens) tag = { from: i, to: i, opening: angle.bracket, closing: '' };
      else if (angle !== undefined && tag !== undefined) {
        const attribute = named !== undefined && named.end > tag.from && !named.loose ? named : undefined;
        tag.to = i;
        tag.closing = angle.bracket;
        const element = secretElement(s, tag, attribute, rules);
        if (element !== undefined) i = mask(element.from, element.to);
        tag = undefined;
        if (named !== undefined) named.depth = -1;
      }
      continue;
    }
    const sep = i + Math.max(0, escaped - 1); // its end
    const { key: found, sure } = assignedKey(s, i);
    let key = found;
    if (key.from === key.to) continue;
    if (named !== undefined) named.left--;
    const label = labelAt(s, key.from, key.to);
    const stemmed = label === undefined && rules.stems.in(s, Math.max(key.from, key.to - MAX_KEY), key.to);
    let strength = stemmed ? keyStrength(s.slice(key.from, key.to), rules) : 'innocent';
    let text = '';
    if (strength === 'innocent') {
      if (sure) continue;
      const word = shellKey(s, i, key);
      if (isSpoken(s, key, stemmed, rules)) {
        strength = 'weak';
      } else if (word !== undefined && keyStrength(word.plain, rules) === 'strong') {
        strength = 'strong';
        text = word.plain;
        key = word;
      } else if (label === undefined) {
        continue;
      } else if (isNaming(label)) {
        if (key.to <= copied) continue; // it was masked, and masking again would not see it
        const name = namedKey(s, sep, label, rules);
        const part = name && formPart(s, name, key, rules);
        if (part !== undefined && part.from < part.to && s.slice(part.from, part.to) !== rules.mask) {
          i = mask(part.from, part.to);
        }
        named = nextName(named, name, label);
        continue;
      } else {
        strength = nameOf(s, key, label, sep, named, rules)?.strength ?? 'innocent';
        if (strength === 'innocent') continue;
      }
    }
    text ||= s.slice(key.from, key.to);
    if (c === 58 && !key.quoted && text.includes('.') && endsInAny(text, rules.codeFiles)) {
      strength = 'maybe';
    }
    if (c === 58 && s[i + 1] !== ' ' && isVisibility(s, i + 1)) continue;
    const before = s[key.from - 1] ?? '';
    const inside = isInStructure(s, key, i, before, strict);
    const sign = key.quoted || sep !== i ? sep : declaredSign(s, i);
    let value = valueAfter(s, sign, inside, before, rules);
    if (value.from === value.to && s[value.from] === '[') {
      const end = secretTexts(s, value.from, key.quoted, strength, rules);
      if (end !== undefined) i = mask(value.from, end);
      continue;
    }
    const object = secretObject(s, value, strength, rules);
    if (object !== undefined) {
      i = mask(value.from, object);
      continue;
    }
    value = shellValue(s, key, i, value);
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
    if (!key.quoted && (endsString(s, before, value) || isReference(text, s, value.from))) continue;
    // "api-secrets" : secret "api-secrets" not found
    if (key.quoted && !value.quoted && s[value.to] === ' ' && isQuote(s[value.to + 1])) {
      if (isSecretStrength(keyStrength(s.slice(value.from, value.to), rules))) continue;
    }
    if (
      c === 61 &&
      isMember(text) &&
      !value.quoted &&
      /^[A-Za-z_$]{1,2}$/.test(s.slice(value.from, value.to))
    )
      continue;
    if (!value.quoted && isShortVariable(s, key, i, value)) continue;
    const structured = inside || (key.quoted && value.quoted);
    if (s[value.from] === '{' && !value.quoted) {
      const path = key.quoted && (before === '/' || before === '+'); // or the type of a file
      if (path || isOpen(text, rules) || isSchema(s.slice(value.from, value.to), rules)) continue;
    }
    if (value.from === value.to && c === 58 && !key.quoted && isLineEnd(s[value.from])) {
      const below = strength === 'maybe' ? undefined : valueBelow(s, value.from, strength === 'strong');
      if (below !== undefined && isSecretValue(s, below, 'weak', false, rules))
        i = mask(below.from, below.to);
      continue;
    }
    if (isCount(text, s, value, rules) || isDirectory(text, s.slice(value.from, value.to))) continue;
    if (value.from >= value.to) continue;
    if (isSecretValue(s, value, strength, structured, rules)) i = mask(value.from, value.to);
    else if (isMasked(s, value, rules)) i = value.to - 1; // what is before a value, such as a comment, is passed as the first time
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
