/** The value of a pair: where it ends; a part of redact.ts. */
import { isBlank, isLineEnd } from './hidden';
import { endsInAny, type PairRules } from './keys';
import { closingMark, quoteMarkAt, shellQuote } from './marks';

/** The length of the longest word that is looked for among schemes and placeholders. */
export const MAX_SCHEME = 20;

const valueEnd = /[ \t\n\r,;&)}\]"'`<>#\\]/g;

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
): ValueAt {
  let i = sep + 1;
  while ((s[i] === '=' || s[i] === '>') && i - sep < 3) i++;
  while (isBlank(s[i]) || (structured && isLineEnd(s[i]))) i++;
  if (s.startsWith('/*', i)) {
    const end = s.indexOf('*/', i);
    if (end > i) i = skipSpace(s, end + 2); // a comment before the value
  }
  const block = s[sep] === ':' && !structured ? yamlBlock(s, i) : undefined;
  if (block !== undefined) return { ...block, quoted: true };
  const mark = quoteMarkAt(s, i);
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
  let to = maskedWordEnd(s, i, rules);
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

export function wordEnd(s: string, from: number): number {
  valueEnd.lastIndex = from;
  return valueEnd.exec(s)?.index ?? s.length;
}

/** {@link wordEnd} for a word that may have masks in it. */
export function maskedWordEnd(s: string, from: number, { mask }: PairRules): number {
  for (let to = wordEnd(s, from); ; to = wordEnd(s, to + 1)) {
    if (s[to] !== ']' || to + 1 - mask.length < from || !s.endsWith(mask, to + 1)) return to;
  }
}

/** Where the line and the column begin that end a part of s, as in :12:34; its end if there is none. */
export function withoutPlace(s: string, from: number, to: number): number {
  return to - (/:\d+:\d+$/.exec(s.slice(from, to))?.[0].length ?? 0);
}

export function skipSpace(s: string, from: number): number {
  let i = from;
  while (s[i] === ' ' || s[i] === '\t' || s[i] === '\n' || s[i] === '\r') i++;
  return i;
}

/** Finds the end of a string whose quotes carry that many backslashes; the end of s when it was cut. */
export function closingQuote(s: string, from: number, quote: string, slashes: number): number {
  let run = 0;
  for (let i = from; i < s.length; i++) {
    if (s[i] === '\\') {
      run++;
      continue;
    }
    if (s[i] === quote && run <= slashes) {
      const more = i - run > from ? shellQuote(s, i, run) : 0;
      if (more === 0) return i - run;
      i += more;
    }
    run = 0;
  }
  return s.length;
}

/** Finds the end of a block string of GraphQL or Python, whose quotes are three; the end of s when it was cut. */
function closingBlock(s: string, from: number, block: string): number {
  for (let at = s.indexOf(block, from); at >= 0; at = s.indexOf(block, at + 1)) {
    if (at === from || s[at - 1] !== '\\') return at; // \""" does not end it
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

/** Says whether a value is a number of secrets, after a key in the plural: `tokens: 512`. */
export function isCount(key: string, s: string, { from, to, quoted }: ValueAt, rules: PairRules): boolean {
  return !quoted && endsInAny(key.toLowerCase(), rules.counted) && /^[\d._,[\] ]*$/.test(s.slice(from, to));
}

export function isQuote(c: string | undefined): boolean {
  return c === '"' || c === "'" || c === '`';
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
