/** The value of a pair: where it ends; a part of redact.ts. */
import { isBlank, isLineEnd } from './hidden';
import { endsInAny, type PairRules } from './keys';
import { insideLiteral } from './literals';
import { closingMark, doubledAt, quoteMarkAt } from './marks';
import { skipBlanksBefore } from './pair-key';
import { closingQuote, isQuote, skipSpace } from './quotes';

/** The length of the longest word that is looked for among schemes and placeholders. */
export const MAX_SCHEME = 20;

/** The escape of a blank, of a tab or of a color. */
const writtenBlank = /\\+(?:t|x20|u0020|040|(?:[eE]|033|x1[bB]|u001[bB])\[[0-9;]*m)/y;

/** The length of the escape at i that a terminal shows as a blank or not at all, and 0 where there is none. */
function writtenBlankAt(s: string, i: number): number {
  if (s[i] !== '\\') return 0;
  writtenBlank.lastIndex = i;
  return writtenBlank.exec(s)?.[0].length ?? 0;
}

/** The characters that end a value without quotes, by their codes. */
const ends = new Uint8Array(128);
for (const c of ' \t\n\r,;&)}]"\'`<>#\\') ends[c.charCodeAt(0)] = 1;

/** How much of a value without quotes is read to find a name: a long one is none. */
const MAX_NAMED_VALUE = 1000;

/** Where a value stands, without its quotes. */
export interface ValueAt {
  from: number;
  to: number;
  quoted: boolean;
}

/**
 * Finds the value behind the separator. In structured data an object or array counts as a value as a
 * whole; in free text it does not, its own keys are looked at.
 */
export function valueAfter(
  s: string,
  sep: number,
  structured: boolean,
  before: string,
  rules: PairRules,
  longest = Number.POSITIVE_INFINITY,
): ValueAt {
  let i = sep + 1;
  if (s.charCodeAt(i) === SPACE) i++;
  const simple = simpleQuoted(s, i);
  if (simple > 0) return { from: i + 1, to: simple, quoted: true };
  i = sep + 1;
  while ((s[i] === '=' || s[i] === '>' || s[i] === '*') && i - sep < 3) i++; // ==, =>, and **password:** in Markdown
  for (let n = 1; n > 0; i += n) {
    n = isBlank(s[i]) || (structured && s[sep] !== '=' && isLineEnd(s[i])) ? 1 : writtenBlankAt(s, i);
  }
  if (isLineEnd(s[i])) {
    const next = skipSpace(s, i);
    let quote = next;
    while (s[quote] === '\\' && quote - next < 7) quote++;
    // A quoted value may be on another line: behind a quoted key, and alone as formatters of code put it.
    if (isQuote(s[quote]) && (isQuote(before) || endsLine(s, next))) i = next;
  }
  if (s.startsWith('/*', i)) {
    const end = s.indexOf('*/', i);
    if (end > i) i = skipSpace(s, end + 2); // a comment before the value
  }
  i = insideLiteral(s, i);
  const block = s[sep] === ':' && !structured ? yamlBlock(s, i) : undefined;
  if (block !== undefined) return { ...block, quoted: true };
  const mark = quoteMarkAt(s, i) ?? doubledValue(s, sep, i);
  if (mark !== undefined) {
    const from = i + mark.length;
    const to = closingMark(s, from, mark);
    // '\'' is also how programs write one quote
    const program = mark.startsWith("'\\") && (to < 0 || wordEnd(s, from) === from);
    // without an end, the text was cut off
    if (!program) return { from, to: to < 0 ? s.length : to, quoted: true };
  }
  let slashes = 0;
  while (s[i + slashes] === '\\') slashes++;
  const quote = s[i + slashes];
  if (quote !== undefined && isQuote(quote)) {
    const from = i + slashes + 1;
    const block = s[from] === s[i] ? s.slice(i, from).repeat(3) : '';
    if (block !== '' && s.startsWith(block, i)) {
      const start = i + block.length;
      return { from: start, to: closingBlock(s, start, block), quoted: true };
    }
    return { from, to: closingQuote(s, from, quote, slashes), quoted: true };
  }
  if (s[i] === '{' || (s[i] === '[' && !s.startsWith(rules.mask, i))) {
    // with what JSON has not behind it
    const end = structured ? maskedWordEnd(s, closingBracket(s, i), rules) : i;
    return { from: i, to: end, quoted: false };
  }
  let to = maskedWordEnd(s, i, rules, Math.min(s.length, i + longest));
  if (to + 1 < s.length && s[to] === ' ' && to - i <= MAX_SCHEME) {
    const word = s.slice(i, to).toLowerCase();
    if (rules.schemes.has(word)) {
      to = maskedWordEnd(s, to + 1, rules); // `Authorization: Bearer abc` is one value
    } else if (rules.lineSchemes.has(word)) {
      // and so is `Authorization: Digest username="ann", response="abc"`
      while (to < s.length && s[to] !== '\n' && s[to] !== '\r' && !(s[to] === before && isQuote(before)))
        to++;
    }
  }
  return { from: i, to, quoted: false };
}

/** Says whether a text in quotes ends its line, but for a sign that ends a statement or a part of a list. */
function endsLine(s: string, from: number): boolean {
  const quote = s[from] ?? '';
  if (!isQuote(quote)) return false;
  let end = closingQuote(s, from + 1, quote, 0);
  if (end >= s.length) return false; // without an end, what is masked in it could be one
  end++;
  if (s[end] === ',' || s[end] === ';') end++;
  return end >= s.length || isLineEnd(s[end]);
}

/** The doubled quote at i if the key before the separator ends with the same one. */
function doubledValue(s: string, sep: number, i: number): string | undefined {
  const mark = s[i] === '"' || s[i] === '\\' ? doubledAt(s, i) : undefined;
  return mark !== undefined && s.endsWith(mark, skipBlanksBefore(s, sep, true)) ? mark : undefined;
}

/** {@link valueAfter} of a label, whose value is read to find a name. */
export function valueOfLabel(s: string, sep: number, before: string, rules: PairRules): ValueAt {
  return valueAfter(s, sep, false, before, rules, MAX_NAMED_VALUE);
}

const [SPACE, DOUBLE, SINGLE, BACKSLASH] = [32, 34, 39, 92];

/** Where a text in quotes ends that has nothing unusual at them, which most have; 0 for others. Only for speed. */
function simpleQuoted(s: string, i: number): number {
  const quote = s.charCodeAt(i);
  if (quote !== DOUBLE && quote !== SINGLE) return 0;
  const first = s.charCodeAt(i + 1);
  if (first === DOUBLE || first === SINGLE || first === BACKSLASH) return 0;
  const end = s.indexOf(quote === DOUBLE ? '"' : "'", i + 1);
  const last = s.charCodeAt(end - 1);
  return last === SINGLE || last === BACKSLASH || (quote === SINGLE && s.charCodeAt(end + 1) === SINGLE)
    ? 0
    : end;
}

/** A word that is alone in one of the next two lines. */
const below = /(?:[ \t]*\r?\n){1,2}[ \t]*([^ \t\r\n\v\f"'`<>{}()[\]:=,;/\\#]+)[ \t]*(?=\r?\n|$)/y;

/**
 * The value that a label in a text has in the next line: "Your password:" and a line with it. It has a letter. Behind a clear
 * label it counts as quoted.
 */
export function valueBelow(s: string, at: number, quoted: boolean): ValueAt | undefined {
  below.lastIndex = at;
  const [whole, word = ''] = below.exec(s) ?? [];
  if (whole === undefined || !/[A-Za-z]/.test(word)) return undefined;
  const from = at + whole.lastIndexOf(word);
  return { from, to: from + word.length, quoted };
}

export function wordEnd(s: string, from: number, most = s.length): number {
  let i = from;
  while (i < most && ends[s.charCodeAt(i)] !== 1) i++;
  return i;
}

/** {@link wordEnd} for a word that may have masks in it. */
export function maskedWordEnd(s: string, from: number, { mask }: PairRules, most = s.length): number {
  for (let to = wordEnd(s, from, most); ; to = wordEnd(s, to + 1, most)) {
    if (s[to] !== ']' || to + 1 - mask.length < from || !s.endsWith(mask, to + 1)) return to;
  }
}

/** Where the line and the column begin that end a part of s, as in :12:34; its end if there is none. */
export function withoutPlace(s: string, from: number, to: number): number {
  return to - (/:\d+:\d+$/.exec(s.slice(from, to))?.[0].length ?? 0);
}

/** Finds the end of a block string of GraphQL or Python, whose quotes are three; the end of s when it was cut. */
function closingBlock(s: string, from: number, block: string): number {
  for (let at = s.indexOf(block, from); at >= 0; at = s.indexOf(block, at + 1)) {
    if (at === from || s[at - 1] !== '\\') return at; // \""" does not end it
  }
  return s.length;
}

/** Finds the end of a JSON object or array; the end of s when it was cut off. */
export function closingBracket(s: string, from: number, most = s.length): number {
  let depth = 0;
  for (let i = from; i < most; i++) {
    const c = s[i];
    if (c === '"') i = closingQuote(s, i + 1, '"', 0);
    else if (c === '{' || c === '[') depth++;
    else if ((c === '}' || c === ']') && --depth === 0) return i + 1;
  }
  return most;
}

/** Says whether a value is a number of secrets, after a key in the plural: `tokens: 512`. */
export function isCount(key: string, s: string, { from, to, quoted }: ValueAt, rules: PairRules): boolean {
  return !quoted && endsInAny(key.toLowerCase(), rules.counted) && /^[\d._,[\] ]*$/.test(s.slice(from, to));
}

/** The variables of a shell that name a directory, and are no passwords. */
const workingDirectory = /^(?:OLD|VSCODE_)?PWD$/;

/** A path that is not a password that begins with a slash. */
const directory =
  /^(?:(?:\/[\w.@+~-]+){2,}\/?|\/(?:app|build|code|home|opt|repo|root|src|srv|tmp|usr|work|workspace)?\/?|[A-Z]:[\\/][\w .\\/@+~-]*|\$\{?PWD\}?)$/;

/** Says whether a value is the directory that a shell works in: `PWD=/home/ann/shop`. */
export function isDirectory(key: string, value: string): boolean {
  return workingDirectory.test(key) && directory.test(value);
}

/** What begins a text of several lines in YAML, which follow it. */
const yamlHead = /[|>][-+]?[1-9]?[-+]?[ \t]*\r?\n([ \t]+)/y;

/**
 * The lines of such a text, without the blanks before the first. They end before the first that does not begin with as many
 * blanks.
 */
function yamlBlock(s: string, at: number): { from: number; to: number } | undefined {
  if (s[at] !== '|' && s[at] !== '>') return undefined;
  yamlHead.lastIndex = at;
  const indent = yamlHead.exec(s)?.[1];
  if (indent === undefined) return undefined;
  const from = yamlHead.lastIndex;
  for (let to = from; ; ) {
    while (to < s.length && !isLineEnd(s[to])) to++;
    let next = to;
    while (isLineEnd(s[next])) next++;
    if (next === to || !s.startsWith(indent, next)) return { from, to };
    to = next;
  }
}
