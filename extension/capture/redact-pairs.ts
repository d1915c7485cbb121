/** Masks the values of secret keys in `key: value` and `key=value`; the larger part of redact.ts. */

/** What makes a key secret; made from protocol/redaction.json. */
export interface PairRules {
  mask: string;
  /** A key is secret when one of its words is here. */
  any: ReadonlySet<string>;
  /** A key is secret when its last word is here; weak evidence in free text. */
  last: ReadonlySet<string>;
  /** A key is secret when it contains these words in a row; each with a space around it. */
  phrases: readonly string[];
  /** A key that ends in one of these words is no secret. */
  innocentLast: ReadonlySet<string>;
  /** A key in which this is not found is no secret; only for speed. */
  stems: RegExp;
  /** After `password:` in free text these words begin a sentence, not a secret. */
  prose: ReadonlySet<string>;
}

/** `weak` is a secret in structured data, and in free text only when the value looks like one. */
export type Strength = 'innocent' | 'weak' | 'strong';

/** How far a key is looked for before its separator. */
const MAX_KEY = 64;

const isKeyChar = /[A-Za-z0-9_\-.%[\]$]/;
const valueEnd = /[ \t\n\r,;&)}\]"'`<>#\\]/g;

/**
 * Masks the values of secret keys, quoted or not, with any level of backslashes before the quotes
 * (JSON inside JSON). Strict is for structured data: an object is a value, and prose is not looked for.
 */
export function maskPairs(s: string, strict: boolean, rules: PairRules): { text: string; masked: number } {
  let out = '';
  let copied = 0;
  let masked = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c !== 58 && c !== 61) continue;
    const [key, before] = keyBefore(s, i);
    if (key === '') continue;
    const strength = keyStrength(key, rules);
    if (strength === 'innocent') continue;
    const pairStrict = strict || before === '?' || before === '&';
    const value = valueAfter(s, i, pairStrict);
    if (value.from >= value.to || !isSecretValue(s, value, strength, pairStrict, rules)) continue;
    out += s.slice(copied, value.from) + rules.mask;
    copied = value.to;
    masked++;
    i = value.to - 1;
  }
  return masked === 0 ? { text: s, masked } : { text: out + s.slice(copied), masked };
}

/** Finds the key that ends at the separator, and the character before the key. */
function keyBefore(s: string, sep: number): [key: string, before: string] {
  let end = sep;
  while (end > 0 && (s[end - 1] === ' ' || s[end - 1] === '\t') && sep - end < 3) end--;
  if (end > 0 && isQuote(s[end - 1])) {
    end--;
    while (end > 0 && s[end - 1] === '\\') end--;
  }
  let start = end;
  while (start > 0 && end - start < MAX_KEY && isKeyChar.test(s[start - 1] ?? '')) start--;
  return [s.slice(start, end), s[start - 1] ?? ''];
}

function isQuote(c: string | undefined): boolean {
  return c === '"' || c === "'" || c === '`';
}

interface Value {
  from: number;
  to: number;
  quoted: boolean;
}

/** Finds the value behind the separator, without its quotes. */
function valueAfter(s: string, sep: number, strict: boolean): Value {
  let i = sep + 1;
  while ((s[i] === '=' || s[i] === '>') && i - sep < 3) i++;
  while (s[i] === ' ' || s[i] === '\t' || (strict && (s[i] === '\n' || s[i] === '\r'))) i++;
  let slashes = 0;
  while (s[i + slashes] === '\\') slashes++;
  const quote = s[i + slashes];
  if (quote !== undefined && isQuote(quote)) {
    const from = i + slashes + 1;
    return { from, to: closingQuote(s, from, quote, slashes), quoted: true };
  }
  if (s[i] === '{' || s[i] === '[') {
    return { from: i, to: strict ? closingBracket(s, i) : i, quoted: false };
  }
  let to = wordEnd(s, i);
  // `Authorization: Bearer abc` is one value.
  if (s[to] === ' ' && /^(?:bearer|basic|digest)$/i.test(s.slice(i, to))) to = wordEnd(s, to + 1);
  return { from: i, to, quoted: false };
}

function wordEnd(s: string, from: number): number {
  valueEnd.lastIndex = from;
  return valueEnd.exec(s)?.index ?? s.length;
}

/** Finds the end of a string whose quotes carry that many backslashes; the end of s when it was cut. */
function closingQuote(s: string, from: number, quote: string, slashes: number): number {
  let run = 0;
  for (let i = from; i < s.length; i++) {
    if (s[i] === '\\') {
      run++;
      continue;
    }
    if (s[i] === quote && run <= slashes) return i - run;
    run = 0;
  }
  return s.length;
}

/** Finds the end of a JSON object or array; the end of s when it was cut off. */
function closingBracket(s: string, from: number): number {
  let depth = 0;
  for (let i = from; i < s.length; i++) {
    const c = s[i];
    if (c === '"') i = closingQuote(s, i + 1, '"', 0);
    else if (c === '{' || c === '[') depth++;
    else if ((c === '}' || c === ']') && --depth === 0) return i + 1;
  }
  return s.length;
}

const noValue = new Set(['null', 'undefined', 'true', 'false', 'NaN', '{}', '[]']);

function isSecretValue(
  s: string,
  { from, to, quoted }: Value,
  key: Strength,
  strict: boolean,
  rules: PairRules,
): boolean {
  const value = s.slice(from, to);
  if (s.startsWith(rules.mask, from) || /^[*•.]*$/.test(value) || noValue.has(value)) return false;
  if (strict) return true;
  if (key === 'weak') return value.length >= 6 && /\d/.test(value) && (quoted || value.length >= 8);
  return quoted || !rules.prose.has(value.replace(/[.!?:]+$/, '').toLowerCase());
}

/**
 * Says whether the values of this key are secrets: `accessToken`, `user[password]`, `X-Api-Key`,
 * but not `password_length` or `tokenizer`.
 */
export function keyStrength(key: string, rules: PairRules): Strength {
  if (!rules.stems.test(key.length > MAX_KEY ? key.slice(-MAX_KEY) : key)) return 'innocent';
  const words = keyWords(key);
  const last = words.at(-1);
  if (last === undefined || rules.innocentLast.has(last)) return 'innocent';
  if (words.some((word) => rules.any.has(word))) return 'strong';
  if (words.length > 1) {
    const joined = ` ${words.join(' ')} `;
    if (rules.phrases.some((phrase) => joined.includes(phrase))) return 'strong';
  }
  return rules.last.has(last) ? 'weak' : 'innocent';
}

/**
 * Splits a key into lower-case words: at anything but letters and digits, at %XX, at changes from
 * lower to upper case, and before the last letter of an acronym. Digits at a word's end are dropped.
 */
function keyWords(key: string): string[] {
  return key
    .replace(/%../gs, ' ')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(/([^A-Z ])(?=[A-Z])/g, '$1 ')
    .replace(/([A-Z])(?=[A-Z][a-z])/g, '$1 ')
    .split(' ')
    .map((word) => word.replace(/\d+$/, '').toLowerCase())
    .filter((word) => word !== '');
}
