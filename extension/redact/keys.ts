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
  /** A key is secret when one of its words ends like this; for keys that are not ASCII. */
  foreign: readonly string[];
  /** An object with such a type describes a value and has none. */
  schemaTypes: ReadonlySet<string>;
  /** Keys of an object of tokens. */
  tokens: ReadonlySet<string>;
  /** The strength of short keys that were asked for. */
  known: Map<string, Strength>;
  /** A number after a key that ends like this is a count. */
  counted: readonly string[];
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
  /** A key that ends in one of these is a file's name. What follows it is secret when it looks like one. */
  codeFiles: readonly string[];
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
  if (key.length > MAX_KNOWN_KEY) return strengthOf(key, rules);
  let strength = rules.known.get(key);
  if (strength === undefined) {
    strength = strengthOf(key, rules);
    if (rules.known.size >= MAX_KNOWN) rules.known.clear();
    rules.known.set(key, strength);
  }
  return strength;
}

/** How many keys are remembered, and how long they are: V8 copies short parts of a text, of longer ones it keeps the text. */
const MAX_KNOWN = 1000;
const MAX_KNOWN_KEY = 12;

function strengthOf(written: string, rules: PairRules): Strength {
  if (!rules.stems.test(written.length > MAX_KEY ? written.slice(-MAX_KEY) : written)) return 'innocent';
  const key = plainKey(written);
  if (isForeign(key, rules)) return 'weak';
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
  return rules.open.has(keyWords(plainKey(key)).at(-1) ?? '') && keyStrength(key, rules) === 'weak';
}

/** Says whether the values of a key of this strength are secrets. */
export function isSecretStrength(strength: Strength): boolean {
  return strength === 'weak' || strength === 'strong';
}

/** What a key has that is escaped or not ASCII; a part of `stems`. */
export const UNUSUAL = '[%\\\\\\u0080-\\uffff]';
const betweenWords = /[\0-@[-`{-\x7f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+/;

/** Says whether one of the words of a key that is not ASCII ends like a secret in another language. */
function isForeign(key: string, rules: PairRules): boolean {
  if (!/[\u0080-\uffff]/.test(key)) return false;
  return key
    .toLowerCase()
    .split(betweenWords)
    .some((word) => endsInAny(word, rules.foreign));
}

/**
 * Undoes percent-encoding, the escapes of JSON and accents that are characters of their own in a key: pass%77ord,
 * \u0070assword, n and U+0303 for ñ.
 */
function plainKey(key: string): string {
  return key
    .replace(/\\+u([0-9A-Fa-f]{4})/g, (_, digits: string) => {
      const c = String.fromCharCode(Number.parseInt(digits, 16));
      return c >= '\ud800' && c < '\ue000' ? ' ' : c;
    })
    .replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return ' ';
      }
    })
    .replace(/[\u0300-\u036f]/g, '');
}

export function containsAny(s: string, parts: readonly string[]): boolean {
  return parts.some((part) => s.includes(part));
}

export function endsInAny(s: string, ends: readonly string[]): boolean {
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
