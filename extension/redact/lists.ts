/** A key and its value as texts of an array, tokens in an object, a header that is a list; a part of redact.ts. */
import { isSecretStrength, keyStrength, type PairRules, type Strength } from './keys';
import { closingMark, doubledAt, doubledBefore, slashesFrom } from './marks';
import { isListedMessage } from './messages';
import { keyBefore } from './pair-key';
import { closingBracket, maskedWordEnd, type ValueAt, valueAfter } from './pair-value';
import { closingQuote, isQuote, skipSpace } from './quotes';
import {
  isPlaceholder,
  isSchema,
  isSecretValue,
  looksSecret,
  MIN_TOKEN,
  startsLikePath,
} from './secret-value';

/**
 * Finds the value of a secret key that are the only two texts of an array or of a call: ["password","hunter2"],
 * setItem("password", "hunter2"). `sep` is the place of the comma between them.
 */
export function pairInArray(s: string, sep: number, rules: PairRules): ValueAt | undefined {
  if (!isQuote(s[sep - 1])) return undefined;
  const key = keyBefore(s, sep);
  if (!key.quoted || key.from === key.to || s[key.from - 1] !== s[sep - 1]) return undefined;
  const quote = key.from - (doubledBefore(s, sep) || key.from - slashesFrom(s, key.from - 1));
  const open = skipSpaceBefore(s, quote);
  if (s[open - 1] !== '[' && s[open - 1] !== '(') return undefined;
  const name = s.slice(key.from, key.to);
  const strength = rules.headers.has(name.toLowerCase()) ? 'strong' : keyStrength(name, rules);
  if (!isSecretStrength(strength)) return undefined;
  const value = valueAfter(s, sep, true, '', rules);
  if (!value.quoted || value.from >= value.to) return undefined;
  const close = s[skipSpace(s, value.to + key.from - quote)];
  if (close !== ']' && close !== ')') return undefined;
  // One array alone may as well be a list of names.
  const outer = s[skipSpaceBefore(s, open - 1) - 1];
  const nested = s[open - 1] === '[' && (outer === '[' || outer === ',');
  return isSecretValue(s, value, 'weak', nested && strength === 'strong', rules) ? value : undefined;
}

/**
 * Finds the end of an array of texts behind a secret key where structure does not say that it is a value: in a sentence, and in
 * objects as programs write them, {passwords: ['a', 'b']}. Undefined where the array has no secret, or anything but texts.
 * The array may be cut off.
 */
export function secretTexts(
  s: string,
  at: number,
  quoted: boolean,
  key: Strength,
  rules: PairRules,
): number | undefined {
  let secret = false;
  let messages = true;
  for (let i = at; ; ) {
    i = skipSpace(s, i + 1); // behind the bracket or the comma
    let slashes = 0;
    while (s[i + slashes] === '\\') slashes++;
    const quote = s[i + slashes];
    if (quote === undefined || !isQuote(quote)) return undefined;
    const mark = doubledAt(s, i);
    const isDoubled = mark !== undefined && !endsText(s[i + mark.length]);
    const width = isDoubled ? mark.length : slashes + 1;
    const from = i + width;
    const close = isDoubled ? closingMark(s, from, mark) : closingQuote(s, from, quote, slashes);
    const to = close < 0 ? s.length : close;
    const text = s.slice(from, to);
    if (to === s.length && text.includes(rules.mask)) return undefined; // it was no end before the text behind it was masked
    messages &&= isListedMessage(text, rules);
    const telling = (quoted && key === 'strong') || (looksSecret(text, true, rules) && /[A-Za-z]/.test(text));
    secret ||= telling && !startsLikePath(text) && !isPlaceholder(text, rules);
    i = skipSpace(s, Math.min(to + width, s.length));
    if (s[i] === ',') continue;
    if ((i < s.length && s[i] !== ']') || messages || !secret) return undefined;
    return maskedWordEnd(s, Math.min(i + 1, s.length), rules); // with what is not JSON behind it
  }
}

/** A text behind a key of an object or of a map. */
const valueInObject = /(?:[:=]|=>)[ \t]*["'`]([^"'`\n]*)/g;

/** The class of an object before its bracket, as consoles show it: Map(1) {, Credentials {. */
const classBefore = /[A-Z]\w{0,40}(?:\(\d+\))? \{/y;

/** How long an object is behind a name without quotes. */
const MAX_OBJECT = 1000;

/**
 * Where an object ends that stands behind the name of a secret without quotes, and in which a text looks like a secret:
 * password: {v: 'x'}, password: Map(1) {'a' => 'x'}. Undefined for others.
 */
export function secretObject(
  s: string,
  { from, quoted }: ValueAt,
  key: Strength,
  rules: PairRules,
): number | undefined {
  if (key !== 'strong' || quoted || from === s.length) return undefined;
  let open = from;
  if (s[open] !== '{') {
    classBefore.lastIndex = open;
    if (!classBefore.test(s)) return undefined;
    open = classBefore.lastIndex - 1;
  }
  const end = closingBracket(s, open, Math.min(s.length, open + MAX_OBJECT));
  const object = s.slice(open, end);
  if (isSchema(object, rules)) return undefined;
  for (const [, text = ''] of object.matchAll(valueInObject)) {
    const looks = looksSecret(text, true, rules) && !text.includes(' ') && /[A-Za-z]/.test(text);
    if (looks && !startsLikePath(text)) return maskedWordEnd(s, end, rules);
  }
  return undefined;
}

/** Says whether a text in an array ends before a character. */
function endsText(c: string | undefined): boolean {
  return c === undefined || c === ',' || c === ']' || c <= ' ';
}

function skipSpaceBefore(s: string, from: number): number {
  let i = from;
  while (i > 0 && /[ \t\n\r]/.test(s[i - 1] ?? '')) i--;
  return i;
}

/** Masks the tokens in a header that is a list of names. */
export function maskListHeader(
  value: string,
  mask: string,
  isSecretKey: (key: string) => boolean,
): { text: string; masked: number } {
  let masked = 0;
  let after = false; // the name before says what follows
  const text = value.replace(/[^,]+/g, (whole) => {
    const part = whole.replace(/^[ \t]+|[ \t]+$/g, '');
    const tail = part.slice(part.lastIndexOf('.') + 1);
    let secret = '';
    if (part !== '' && part !== mask) secret = after ? part : isToken(tail) ? tail : '';
    after = isSecretKey(part);
    if (secret === '') return whole;
    masked++;
    const at = whole.lastIndexOf(secret);
    return whole.slice(0, at) + mask + whole.slice(at + secret.length);
  });
  return { text, masked };
}

/** Says whether a part of a name is not made of words. */
function isToken(s: string): boolean {
  return s.length >= MIN_TOKEN && /\d/.test(s) && /[A-Za-z]/.test(s) && !/[[\]]/.test(s);
}
