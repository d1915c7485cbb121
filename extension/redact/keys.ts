/** What makes a key secret; a part of redact.ts. */

/** What makes a key secret; made from protocol/redaction.json. */
export interface PairRules {
  mask: string;
  /** Names of secret headers, in lower case. */
  headers: ReadonlySet<string>;
  /** A key is secret when one of its words is here, or ends like one of `anyEnd`. */
  any: ReadonlySet<string>;
  anyEnd: readonly string[];
  /** A key is secret when its last word is here, or ends like `lastEnd`; weak evidence in free text. */
  last: ReadonlySet<string>;
  lastEnd: readonly string[];
  /** A key whose last word is here is secret when its value looks like one, anywhere. */
  maybe: ReadonlySet<string>;
  /** A key is secret when it contains these words in a row; each with a space around it. */
  phrases: readonly string[];
  /** The last words of the phrases. */
  phraseLast: ReadonlySet<string>;
  /** A key that ends in one of these words is no secret. */
  innocentLast: ReadonlySet<string>;
  /** These keys, in lower case, are no secrets: standard headers that say what is allowed. */
  public: ReadonlySet<string>;
  /** A key in which this is not found is no secret; only for speed. */
  stems: RegExp;
  /** After `password:` in free text these words begin a sentence, not a secret. */
  prose: ReadonlySet<string>;
  words: ReadonlySet<string>;
  /** These stand where a secret would, and are none. */
  placeholders: ReadonlySet<string>;
  /** These begin the name of a variable, which stands where its value would. */
  variables: readonly string[];
  /** An object under a key that ends in one of these words is looked into, not masked whole. */
  open: ReadonlySet<string>;
  /** After `Authorization:` these words belong to the secret that follows. */
  schemes: ReadonlySet<string>;
  /** Schemes whose parameters go on to the line's end. */
  lineSchemes: ReadonlySet<string>;
}

/**
 * `weak` is a secret in structured data, and in free text only when the value looks like one; `maybe`
 * is one only when the value looks like one.
 */
export type Strength = 'innocent' | 'maybe' | 'weak' | 'strong';

/** How far a key is looked for before its separator. */
export const MAX_KEY = 64;

/**
 * Says whether the values of this key are secrets: `accessToken`, `user[password]`, `X-Api-Key`,
 * but not `password_length` or `tokenizer`.
 */
export function keyStrength(key: string, rules: PairRules): Strength {
  if (!rules.stems.test(key.length > MAX_KEY ? key.slice(-MAX_KEY) : key)) return 'innocent';
  if (rules.public.has(key.toLowerCase())) return 'innocent';
  const words = keyWords(key);
  const last = words.at(-1);
  if (last === undefined || rules.innocentLast.has(last)) return 'innocent';
  if (words.some((word) => rules.any.has(word) || endsInAny(word, rules.anyEnd))) return 'strong';
  if (words.length > 1 && containsAny(` ${words.join(' ')} `, rules.phrases)) return 'strong';
  if (rules.last.has(last) || endsInAny(last, rules.lastEnd)) return 'weak';
  return rules.maybe.has(last) ? 'maybe' : 'innocent';
}

/** Says whether an object under this key is looked into: it has more than the secret. */
export function isOpen(key: string, rules: PairRules): boolean {
  return rules.open.has(keyWords(key).at(-1) ?? '') && keyStrength(key, rules) === 'weak';
}

export function containsAny(s: string, parts: readonly string[]): boolean {
  return parts.some((part) => s.includes(part));
}

function endsInAny(s: string, ends: readonly string[]): boolean {
  return ends.some((end) => s.endsWith(end));
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
