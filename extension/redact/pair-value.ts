/** The value of a pair: where it ends, and whether it is a secret; a part of redact.ts. */
import type { PairRules, Strength } from './keys';

/** The length of the longest word that is looked for among schemes and placeholders. */
export const MAX_SCHEME = 20;

/** Quotes as a page's source writes them inside an attribute. */
export const quoteEntities = ['&quot;', '&#34;', '&#39;', '&#x27;'];

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
  while (s[i] === ' ' || s[i] === '\t' || (structured && (s[i] === '\n' || s[i] === '\r'))) i++;
  let slashes = 0;
  while (s[i + slashes] === '\\') slashes++;
  const quote = s[i + slashes];
  if (quote !== undefined && isQuote(quote)) {
    const from = i + slashes + 1;
    return { from, to: closingQuote(s, from, quote, slashes), quoted: true };
  }
  if (s[i] === '&') {
    const entity = quoteEntities.find((e) => s.startsWith(e, i));
    if (entity !== undefined) {
      const from = i + entity.length;
      const to = s.indexOf(entity, from);
      return { from, to: to < 0 ? s.length : to, quoted: true };
    }
  }
  if (s[i] === '{' || s[i] === '[') {
    return { from: i, to: structured ? closingBracket(s, i) : i, quoted: false };
  }
  let to = wordEnd(s, i);
  if (to + 1 < s.length && s[to] === ' ' && to - i <= MAX_SCHEME) {
    const word = s.slice(i, to).toLowerCase();
    if (rules.schemes.has(word)) {
      to = wordEnd(s, to + 1); // `Authorization: Bearer abc` is one value
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

export function isSecretValue(
  s: string,
  { from, to, quoted }: ValueAt,
  key: Strength,
  structured: boolean,
  rules: PairRules,
): boolean {
  const value = s.slice(from, to);
  if (s.startsWith(rules.mask, from) || isPlaceholder(value, rules)) return false;
  if (key === 'maybe') {
    return (
      looksSecret(value, quoted || structured, rules) && !/[ \t\n]/.test(value) && /[A-Za-z]/.test(value)
    );
  }
  if (structured) return true;
  if (key === 'weak') return looksSecret(value, quoted, rules);
  if (quoted) return true;
  return !isVariable(value, rules) && !rules.prose.has(value.replace(/[.!?:]+$/, '').toLowerCase());
}

/**
 * Says whether a value is not a word of a sentence: it has digits, or is long and in both cases. A mask
 * in it is no evidence, nor is what follows, else masking twice would mask more.
 */
function looksSecret(whole: string, delimited: boolean, { mask }: PairRules): boolean {
  const at = whole.indexOf(mask.slice(0, -1)); // a value ends before a bracket
  const value = at < 0 ? whole : whole.slice(0, at);
  if (/\d/.test(value)) return value.length >= 6 && (delimited || value.length >= 8);
  return value.length >= 16 && !/[ \t\n]/.test(whole) && /[A-Z]/.test(value) && /[a-z]/.test(value);
}

/** Says whether a value stands where a secret would, and is none: null, ••••, [REDACTED]. */
function isPlaceholder(value: string, rules: PairRules): boolean {
  const word = value.replace(/^[[\]{}()<>*•.!]+|[[\]{}()<>*•.!]+$/g, '');
  return word === '' || (word.length <= MAX_SCHEME && rules.placeholders.has(word.toLowerCase()));
}

/** Says whether a value is the name of a variable in GraphQL, a shell, a template or a program. */
function isVariable(value: string, rules: PairRules): boolean {
  return rules.variables.some(
    (begin) => value.startsWith(begin) && /^[A-Za-z_.]+$/.test(value.slice(begin.length)),
  );
}

export function isQuote(c: string | undefined): boolean {
  return c === '"' || c === "'" || c === '`';
}
