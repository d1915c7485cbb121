/** A key and its value as texts of an array, tokens in an object, a header that is a list; a part of redact.ts. */
import { isSecretStrength, keyStrength, type PairRules, type Strength } from './keys';
import { isListedMessage } from './messages';
import { keyBefore } from './pair-key';
import { closingQuote, isQuote, maskedWordEnd, skipSpace, type ValueAt, valueAfter } from './pair-value';
import { isPlaceholder, isSecretValue, looksSecret, MIN_TOKEN } from './secret-value';

/**
 * Finds the value of a secret key that are the only two texts of an array: ["password","hunter2"]. `sep` is the place of
 * the comma between them.
 */
export function pairInArray(s: string, sep: number, rules: PairRules): ValueAt | undefined {
  if (!isQuote(s[sep - 1])) return undefined;
  const key = keyBefore(s, sep);
  let quote = key.from - 1;
  if (!key.quoted || key.from === key.to || s[quote] !== s[sep - 1]) return undefined;
  let slashes = 0;
  for (; s[quote - 1] === '\\'; quote--) slashes++;
  const open = skipSpaceBefore(s, quote);
  if (s[open - 1] !== '[') return undefined;
  const name = s.slice(key.from, key.to);
  const strength = rules.headers.has(name.toLowerCase()) ? 'strong' : keyStrength(name, rules);
  if (!isSecretStrength(strength)) return undefined;
  const value = valueAfter(s, sep, true, '', rules);
  if (!value.quoted || value.from >= value.to) return undefined;
  if (s[skipSpace(s, value.to + slashes + 1)] !== ']') return undefined;
  // One array alone may as well be a list of names.
  const outer = s[skipSpaceBefore(s, open - 1) - 1];
  const nested = outer === '[' || outer === ',';
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
    const from = i + slashes + 1;
    const quote = s[from - 1];
    if (quote === undefined || !isQuote(quote)) return undefined;
    const to = closingQuote(s, from, quote, slashes);
    const text = s.slice(from, to);
    messages &&= isListedMessage(text, rules);
    const telling = (quoted && key === 'strong') || (looksSecret(text, true, rules) && /[A-Za-z]/.test(text));
    secret ||= telling && !isPlaceholder(text, rules);
    i = skipSpace(s, Math.min(to + slashes + 1, s.length));
    if (s[i] === ',') continue;
    if ((i < s.length && s[i] !== ']') || messages || !secret) return undefined;
    return maskedWordEnd(s, Math.min(i + 1, s.length), rules); // with what is not JSON behind it
  }
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
