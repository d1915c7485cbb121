/** Quotes, and the space around them; a part of redact.ts. */
import { shellQuote } from './marks';

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
      const more = i - run > from ? doubled(s, i, quote, run) || shellQuote(s, i, run) : 0;
      if (more === 0) return i - run;
      i += more;
    }
    run = 0;
  }
  return s.length;
}

/** How many characters follow the quote at i that stands for one in a text, as in 'it''s' of SQL and YAML: 1 or 0. */
function doubled(s: string, i: number, quote: string, slashes: number): number {
  if (quote !== "'" || slashes > 0 || s[i + 1] !== "'") return 0;
  const end = s.indexOf("'", i + 2);
  return end > 0 && !s.slice(i, end).includes('\n') ? 1 : 0;
}

export function isQuote(c: string | undefined): boolean {
  return c === '"' || c === "'" || c === '`';
}
