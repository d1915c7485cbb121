/** A key and its value as texts of an array, tokens in an object, a header that is a list; a part of redact.ts. */
import { isSecretStrength, keyStrength, type PairRules } from './keys';
import { keyBefore } from './pair-key';
import { isQuote, skipSpace, type ValueAt, valueAfter } from './pair-value';
import { isSecretValue, MIN_TOKEN } from './secret-value';

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
