/** Secret keys that stand elsewhere than before their separator; a part of redact.ts. */
import {
  isForeign,
  isLetter,
  isSecretStrength,
  keyStrength,
  MAX_KEY,
  type PairRules,
  plainKey,
  remembered,
  type Strength,
  unusual,
  Words,
} from './keys';
import { quoteMarkBefore } from './marks';
import { keyBefore } from './pair-key';
import { MAX_SCHEME, valueOfLabel } from './pair-value';
import { isQuote } from './quotes';
import { looksLikeToken } from './secret-value';

/** Where a key stands, without its quotes. */
export interface KeyAt {
  from: number;
  to: number;
  quoted: boolean;
}

/**
 * A key that stands as a value: `name="password" value="…"`, as forms, lists of headers and messages about fields write it.
 */
export interface NamedKey {
  key: string;
  strength: Strength;
  /** The key of the name itself. */
  label: string;
  /** Whether the label more often has something else than a name. */
  loose: boolean;
  /** Where the name ends. */
  end: number;
  /** Counts down the pairs among which the value is looked for. */
  left: number;
  /** Counts the braces since. It is below 0 when the object or tag of the name has ended. */
  depth: number;
}

/**
 * How many pairs after or before its name a value is looked for. It counts no characters: what was masked in
 * between has another length, and masking twice must be masking once.
 */
const MAX_NAMED = 4;

/**
 * What a key says about the text after it: that it is a name, that it may be one or speak of one, and that it is or may be the
 * value of one.
 */
type Kind = 'name' | 'loose' | 'hint' | 'value' | 'text';

/** A key with such a meaning, in small letters. */
export interface Label {
  word: string;
  kind: Kind;
}

const labels = new Map<string, Label>();
const words: Record<Kind, string> = {
  name: 'name key',
  loose: 'k field fieldname field_name param path property id loc parameter attribute variable header type',
  hint: 'label element selector target',
  value: 'v value val content input rejectedvalue newvalue oldvalue defaultvalue currentvalue fieldvalue',
  text: 'text',
};
for (const [kind, keys] of Object.entries(words)) {
  for (const word of keys.split(' ')) labels.set(word, { word, kind: kind as Kind });
}

const labelWords = new Words(labels.keys());

/** The label that a part of a text is. */
export function labelAt(s: string, from: number, to: number): Label | undefined {
  const word = labelWords.find(s, from, to);
  return word === undefined ? undefined : labels.get(word);
}

/** Says whether a label tells of a name that follows. */
export function isNaming({ kind }: Label): boolean {
  return kind === 'name' || kind === 'loose' || kind === 'hint';
}

/** Reads the name behind the separator of a label; undefined for one that may be none, and is no secret. */
export function namedKey(
  s: string,
  sep: number,
  { word, kind }: Label,
  rules: PairRules,
): NamedKey | undefined {
  const loose = kind !== 'name';
  if (loose && isNumber(s, sep + 1)) return undefined;
  let { from, to } = valueOfLabel(s, sep, '', rules);
  if (from === to && s[from] === '[') ({ from, to } = lastListed(s, from));
  let key = '';
  let strength: Strength = 'innocent';
  if (to - from <= MAX_KEY && rules.stems.in(s, from, to)) {
    key = s.slice(from, to);
    if (kind === 'hint' && key.endsWith(' field')) key = key.slice(0, -' field'.length); // which is innocent elsewhere
    strength = nameStrength(key, rules);
  }
  if (loose && strength === 'innocent') return undefined;
  if (word === 'type' && strength !== 'strong') return undefined; // of a token of a language, more often
  if (kind === 'hint') strength = 'maybe';
  return { key, strength, label: word, loose, end: to, left: MAX_NAMED + 1, depth: 0 };
}

/** Says whether a number in JSON stands at a place. */
function isNumber(s: string, at: number): boolean {
  let i = s.charCodeAt(at) === 32 ? at + 1 : at;
  const from = i;
  while (s.charCodeAt(i) >= 48 && s.charCodeAt(i) <= 57) i++;
  return i > from && (s[i] === ',' || s[i] === '}');
}

/** The length of a list that ends with a name. */
const MAX_LIST = 256;

/** The last text of a list, as in "loc":["body","password"]. */
function lastListed(s: string, from: number): { from: number; to: number } {
  const end = from + s.slice(from, from + MAX_LIST).indexOf(']') - 1;
  const quote = s[end];
  const start = end > from && isQuote(quote) ? s.lastIndexOf(quote ?? '', end - 1) + 1 : 0;
  return start > from ? { from: start, to: end } : { from, to: from };
}

/** {@link keyStrength} of a key that stands as a value. */
export function nameStrength(name: string, rules: PairRules): Strength {
  return remembered(name, rules, rules.knownNames, strengthOf);
}

function strengthOf(name: string, rules: PairRules): Strength {
  const strength = keyStrength(name, rules);
  if (strength === 'innocent') return rules.headers.has(name.toLowerCase()) ? 'weak' : strength;
  // A name is nothing in which something was masked: it would be another one the second time.
  if (!/^[A-Za-z0-9_\-.%[\]$ \\/#\u0080-\uffff]+$/.test(name) || name.includes(rules.mask.slice(0, -1)))
    return 'innocent';
  return strength;
}

/** Says whether the object or the tag of a name goes on. A name that is no secret says nothing of objects in its own. */
function isOpen({ depth, strength }: NamedKey): boolean {
  return depth === 0 || (depth > 0 && strength !== 'innocent');
}

/** The name that counts after one more with such a label: the one before it in its object, or the one that was read. */
export function nextName(
  before: NamedKey | undefined,
  name: NamedKey | undefined,
  label: Label,
): NamedKey | undefined {
  if (before === undefined || before.label === label.word || !isOpen(before)) return name;
  return name !== undefined && (name.strength !== 'innocent' || before.strength === 'innocent')
    ? name
    : before;
}

/** The length of the shortest value without quotes that may come before its name. */
const MIN_CODE = 3;

/** A number with a point, which measures something. */
const fraction = /^[\d-]*\.[\d-]*$/;

/** The name of a value with such a key: the one before it in its object, else the one behind it, else the last one. */
export function nameOf(
  s: string,
  value: KeyAt,
  { word, kind }: Label,
  sep: number,
  named: NamedKey | undefined,
  rules: PairRules,
): NamedKey | undefined {
  const left = named !== undefined && named.left > 0;
  const open = left && isOpen(named);
  const short = word.length === 1;
  if (open && !named.loose && kind === 'value' && !short) return named;
  const { from, to, quoted } = valueOfLabel(s, sep, s[value.from - 1] ?? '', rules);
  const text = s.slice(from, to);
  if (word === 'content' && text.includes(' ')) return undefined;
  if (kind === 'text')
    return open
      ? { ...named, strength: isSecretStrength(named.strength) ? 'maybe' : named.strength }
      : undefined;
  if (!quoted && text !== '' && (text.length < MIN_CODE || fraction.test(text))) return undefined;
  const name = open ? named : (nameAfter(s, to, rules) ?? (left ? named : undefined));
  if (name === undefined || short !== (name.label.length === 1)) return undefined; // v is the value of k alone
  if (name === named && !open) return named;
  if (!open && name.key.toLowerCase().includes(text.toLowerCase())) return undefined; // a label
  if (quoted && name.strength === 'maybe' && text[0] !== '[' && !looksLikeToken(text, true, rules))
    return undefined;
  return !quoted && name.strength === 'strong' ? { ...name, strength: 'weak' } : name;
}

/** What ends the object or tag of a value, and what separates a key. A semicolon ends a statement, or an entity. */
const [ENDS, MAY_END, SEPARATES] = [1, 2, 3];
const signs = new Uint8Array(128);
for (const c of '{}[]<>') signs[c.charCodeAt(0)] = ENDS;
for (const c of ':=') signs[c.charCodeAt(0)] = SEPARATES;
signs[';'.charCodeAt(0)] = MAY_END;

/** The name that follows a value in the same object or tag, before anything nested. */
function nameAfter(s: string, from: number, rules: PairRules): NamedKey | undefined {
  let pairs = 0;
  for (let i = from; i < s.length; i++) {
    const sign = signs[s.charCodeAt(i)];
    if (sign === undefined || sign === 0) continue;
    if (sign === ENDS) return undefined;
    if (sign === MAY_END) {
      if ((s[i + 1] ?? '') > ' ' || quoteMarkBefore(s, i + 1) > 0) continue;
      return undefined;
    }
    const key = keyBefore(s, i);
    if (key.from === key.to) continue;
    const label = labelAt(s, key.from, key.to);
    if (label !== undefined && isNaming(label)) {
      const name = namedKey(s, i, label, rules);
      if (name !== undefined) return name;
    }
    if (++pairs === MAX_NAMED) return undefined;
    i = Math.max(i, valueOfLabel(s, i, s[key.from - 1] ?? '', rules).to - 1);
  }
  return undefined;
}

/**
 * The content of the part of a multipart form that has this name (RFC 7578): between the empty line
 * after the part's headers and the next boundary. Where no header says that it is a form, the name is alone in its line.
 */
export function formPart(
  s: string,
  { end, strength }: NamedKey,
  key: KeyAt,
  rules: PairRules,
): { from: number; to: number } | undefined {
  if (strength === 'innocent' || key.quoted) return undefined;
  const line = s.slice(Math.max(0, key.from - MAX_PART_HEADER), key.from);
  const form = /form-data;[^\n]*$/i.test(line);
  if (!form && !(/(?:^|\n)[ \t]*$/.test(line) && isQuote(s[end]))) return undefined;
  let from = end;
  for (let empty = false; !empty; ) {
    // the rest of the part's headers, line by line
    const next = s.indexOf('\n', from);
    if (next < 0 || s.startsWith('--', from)) return undefined;
    empty = from > end && /^\r*$/.test(s.slice(from, next));
    if (!form && !empty && (from > end || !/^.\r*$/.test(s.slice(from, next)))) return undefined;
    from = next + 1;
  }
  if (s.startsWith('--', from)) return undefined;
  const boundary = s.indexOf('\n--', from);
  if (!form) {
    alone.lastIndex = from;
    const value = alone
      .exec(s)
      ?.slice(1)
      .find((line) => line !== undefined);
    // masking again would see another line if there was a mask in it
    if (value === undefined || value.includes(rules.mask.slice(0, -1))) return undefined;
    return { from, to: from + value.length };
  }
  if (boundary < 0) return { from, to: s.length };
  return { from, to: boundary > from && s[boundary - 1] === '\r' ? boundary - 1 : boundary };
}

/** A line of text before a boundary, or the last one. */
const alone =
  /(?:(-?[^ \t\r\n\v\f-][^\r\n]*)\r?\n--+\w|([^ \t\r\n\v\f<>[\]{}#=-][^ \t\r\n\v\f=]*)\r?\n?$|([^ \t\r\n\v\f<>[\]{}#=-][^\r\n<>{}=[\]]*)\r?(?:\n--|\n?$))/y;

/** How much of a part's header is read before its name. */
const MAX_PART_HEADER = 300;

/**
 * Says whether the key is the last word of a secret key of several words ("API key: …"). It is weak:
 * a sentence may go on behind it. Stemmed is false if the word has no stem of a secret key.
 */
export function isSpoken(s: string, key: KeyAt, stemmed: boolean, rules: PairRules): boolean {
  if (s.charCodeAt(key.from - 1) !== 32) return false;
  const last = rules.phraseLast.find(s, key.from, key.to);
  if (last === undefined && !(stemmed && isForeignWord(s, key))) return false;
  const second = wordBefore(s, key.from);
  if (second < 0) return false;
  const two = s.slice(second, key.to).toLowerCase();
  if (isPhrase(two, rules)) return true;
  const first = wordBefore(s, second);
  if (first < 0) return false;
  const three = s.slice(first, key.to).toLowerCase();
  return isPhrase(three, rules) || rules.phrases.has(s.slice(first, key.from - 1).toLowerCase());
}

/** Says whether words in small letters are a secret key together. */
function isPhrase(words: string, rules: PairRules): boolean {
  if (rules.phrases.has(words)) return true;
  return unusual.test(words) && isForeign(plainKey(words).replaceAll(' ', ''), rules);
}

/** Where the word begins that stands before a place, with a blank between them; -1 if there is none. */
function wordBefore(s: string, at: number): number {
  if (at === 0 || s.charCodeAt(at - 1) !== 32) return -1;
  let start = at - 1;
  while (start > 0 && at - start <= MAX_SCHEME) {
    const c = s.charCodeAt(start - 1);
    if (!isLetter(c) && c < 128) break;
    start--;
  }
  return start === at - 1 ? -1 : start;
}

/** Says whether a key is one word that has other characters than ASCII. */
function isForeignWord(s: string, { from, to }: KeyAt): boolean {
  let foreign = false;
  for (let i = from; i < to; i++) {
    const c = s.charCodeAt(i);
    if (c > 127) foreign = true;
    else if (!isLetter(c)) return false;
  }
  return foreign;
}
