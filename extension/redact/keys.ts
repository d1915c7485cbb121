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
  /** The strength of short names that were asked for. */
  knownNames: Map<string, Strength>;
  /** A number after a key that ends like this is a count. */
  counted: readonly string[];
  /** A key is secret when it contains these words in a row. */
  phrases: ReadonlySet<string>;
  /** The last words of the phrases. */
  phraseLast: Words;
  /** A key that ends in one of these words is no secret. */
  innocentLast: ReadonlySet<string>;
  /** These keys, in lower case, are no secrets: standard headers that say what is allowed. */
  public: ReadonlySet<string>;
  /** A key in which none of these is found is no secret; only for speed. */
  stems: Stems;
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
  return remembered(key, rules, rules.known, strengthOf);
}

/** What a function says about a key, which is remembered if the key is short. */
export function remembered(
  key: string,
  rules: PairRules,
  known: Map<string, Strength>,
  ask: (key: string, rules: PairRules) => Strength,
): Strength {
  if (key.length > MAX_KNOWN_KEY) return ask(key, rules);
  let strength = known.get(key);
  if (strength === undefined) {
    strength = ask(key, rules);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(` ${key}`.slice(1), strength); // a copy: a part of a text would keep the whole text
  }
  return strength;
}

/** How many keys are remembered, and how long they are. */
const MAX_KNOWN = 1000;
const MAX_KNOWN_KEY = 40;

function strengthOf(written: string, rules: PairRules): Strength {
  if (!rules.stems.in(written, Math.max(0, written.length - MAX_KEY), written.length)) return 'innocent';
  let key = written;
  if (unusual.test(written)) {
    key = plainKey(written);
    if (isForeign(key, rules)) return 'weak';
  }
  if (rules.public.has(key.toLowerCase())) return 'innocent';
  const words = keyWords(key);
  const last = words.at(-1);
  if (last === undefined || rules.innocentLast.has(last)) return 'innocent';
  if (words.some((word) => rules.any.has(word) || endsInAny(word, rules.anyEnd))) return 'strong';
  if (words.length > 1 && hasPhrase(words, rules.phrases)) return 'strong';
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

/** Texts of small letters, of which a secret key has one, if it is not escaped and ASCII. */
export class Stems {
  /** Stems by their first two letters, of either case: their places in `lists`. The first list is empty. */
  private readonly starts = new Uint8Array(1 << 14);
  private readonly lists: string[][] = [[]];

  constructor(stems: readonly string[]) {
    for (const stem of stems) {
      const [first, second] = [stem.charCodeAt(0), stem.charCodeAt(1)];
      let list = this.starts[(first << 7) | second] ?? 0;
      if (list === 0) {
        list = this.lists.push([]) - 1;
        for (const a of [first, first & ~32]) {
          for (const b of [second, second & ~32]) this.starts[(a << 7) | b] = list;
        }
      }
      this.lists[list]?.push(stem);
    }
  }

  /** Says whether a part of a text may have a secret key. */
  in(s: string, from: number, to: number): boolean {
    let last = 0;
    for (let i = from; i < to; i++) {
      const c = s.charCodeAt(i);
      if (c > 127 || c === 37 || c === 92) return true;
      const list = this.starts[(last << 7) | c];
      last = c;
      if (list !== undefined && list !== 0 && this.begins(s, i - 1, to, list)) return true;
    }
    return false;
  }

  /** Says whether one of the stems of a list begins at a place. Its first two letters do. */
  private begins(s: string, at: number, to: number, list: number): boolean {
    for (const stem of this.lists[list] ?? []) {
      if (at + stem.length > to) continue;
      let i = 2;
      while (i < stem.length && (s.charCodeAt(at + i) | 32) === stem.charCodeAt(i)) i++;
      if (i === stem.length) return true;
    }
    return false;
  }
}

/** Words in small letters, by their lengths and first letters, which are found in a text without cutting it. */
export class Words {
  /** Places in `lists`, of which the first is empty. */
  private readonly starts = new Uint8Array(MAX_WORD << 5);
  private readonly lists: string[][] = [[]];

  constructor(words: Iterable<string>) {
    for (const word of words) {
      const at = (word.length << 5) | (word.charCodeAt(0) & 31);
      if (this.starts[at] === 0) this.starts[at] = this.lists.push([]) - 1;
      this.lists[this.starts[at] ?? 0]?.push(word);
    }
  }

  /** The word that a part of a text is, in any case. */
  find(s: string, from: number, to: number): string | undefined {
    if (to - from >= MAX_WORD) return undefined;
    const list = this.starts[((to - from) << 5) | (s.charCodeAt(from) & 31)];
    if (list === undefined || list === 0) return undefined;
    for (const word of this.lists[list] ?? []) {
      let i = 0;
      while (i < word.length && (s.charCodeAt(from + i) | 32) === (word.charCodeAt(i) | 32)) i++;
      if (i === word.length) return word;
    }
    return undefined;
  }
}

/** No word of {@link Words} is longer. */
const MAX_WORD = 32;

/** What is escaped in a key, or is not ASCII. */
export const unusual = /[%\\\u0080-\uffff]/;
const betweenWords = /[\0-@[-`{-\x7f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+/;

/** Says whether one of the words of a key that is not ASCII ends like a secret in another language. */
export function isForeign(key: string, rules: PairRules): boolean {
  if (!/[\u0080-\uffff]/.test(key)) return false;
  return key
    .toLowerCase()
    .split(betweenWords)
    .some((word) => endsInAny(word, rules.foreign));
}

/**
 * Undoes percent-encoding, escapes with the code of a character and accents that are characters of their own in a key:
 * pass%77ord, \u0070assword, \u{70}assword, \x70assword, \160assword, n and U+0303 for ñ. It does what a terminal does with
 * the escapes of colors and of a backspace: pass\e[1mword, pass\bsword.
 */
export function plainKey(key: string): string {
  const plain = key
    .replace(colors, '')
    .replace(escapes, (_, unit, point, long, byte, octal) => {
      const code = unit ?? point ?? long ?? byte;
      if (code === undefined && octal === undefined) return '\b';
      const n = Number.parseInt(code ?? octal, octal === undefined ? 16 : 8);
      const c = n > 0xffff ? ' ' : String.fromCharCode(n);
      return c >= '\ud800' && c < '\ue000' ? ' ' : c;
    })
    .replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return ' ';
      }
    });
  const shown: string[] = [];
  for (const c of plain) {
    if (c === '\b') shown.pop();
    else if (c < '\u0300' || c > '\u036f') shown.push(c);
  }
  return shown.join('');
}

const escapes =
  /\\+(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(0?1[0-7]{2}|0[0-7]{2})|b)/g;
const colors = /\\+(?:[eE]|033|x1[bB]|u001[bB])\[[0-9;]*m/g;

/** Says whether two or three words in a row are a phrase. */
function hasPhrase(words: readonly string[], phrases: ReadonlySet<string>): boolean {
  return words.some((word, i) => {
    const two = `${word} ${words[i + 1]}`;
    return phrases.has(two) || phrases.has(`${two} ${words[i + 2]}`);
  });
}

export function endsInAny(s: string, ends: readonly string[]): boolean {
  return ends.some((end) => s.endsWith(end));
}

/**
 * Splits a key into lower-case words: at anything but letters and digits, at %XX, at changes from
 * lower to upper case, and before the last letter of an acronym. Digits at a word's end are dropped.
 */
function keyWords(key: string): string[] {
  const words: string[] = [];
  let start = 0;
  const end = (at: number): void => {
    let to = at;
    while (to > start && isDigit(key.charCodeAt(to - 1))) to--;
    if (to > start) words.push(key.slice(start, to).toLowerCase());
  };
  for (let i = 0; i < key.length; i++) {
    const c = key.charCodeAt(i);
    if (c === 37 && i + 2 < key.length) {
      end(i);
      i += 2;
      start = i + 1;
    } else if (!isLetter(c) && !isDigit(c)) {
      end(i);
      start = i + 1;
    } else if (i > start && isUpper(c)) {
      const next = key.charCodeAt(i + 1);
      if (isUpper(key.charCodeAt(i - 1)) && !(isLetter(next) && !isUpper(next))) continue;
      end(i);
      start = i;
    }
  }
  end(key.length);
  return words;
}

const isDigit = (c: number): boolean => c >= 48 && c <= 57;
const isUpper = (c: number): boolean => c >= 65 && c <= 90;
export const isLetter = (c: number): boolean => (c | 32) >= 97 && (c | 32) <= 122;
