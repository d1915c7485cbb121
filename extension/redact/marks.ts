/** Quotes and angle brackets as HTML, JSON and shells escape them; a part of redact.ts. */

/** How a quote is written inside an attribute, in HTML within HTML, and in a shell's single quotes. */
const quoteMarks = [
  '&quot;',
  '&#34;',
  '&#034;',
  '&#x22;',
  '&apos;',
  '&#39;',
  '&#039;',
  '&#x27;',
  '&amp;quot;',
  '&amp;#34;',
  '&amp;apos;',
  '&amp;#39;',
  `'"'"'`,
  String.raw`'\"'\"'`,
  String.raw`'\''`,
  String.raw`'\\''`,
];

/** The length of the mark that ends at `end`, with the backslashes before an entity; 0 for none. */
export function quoteMarkBefore(s: string, end: number): number {
  const last = s[end - 1];
  if (last !== ';' && last !== "'") return 0;
  const mark = quoteMarks.find((m) => isMark(s, end - m.length, m));
  if (mark === undefined) return 0;
  let from = end - mark.length;
  while (mark[0] === '&' && s[from - 1] === '\\') from--;
  return end - from;
}

/** The mark that begins at i, with the backslashes before an entity. */
export function quoteMarkAt(s: string, i: number): string | undefined {
  let from = i;
  while (s[from] === '\\') from++;
  if (s[from] !== '&' && (s[from] !== "'" || from > i)) return undefined;
  const mark = quoteMarks.find((m) => isMark(s, from, m));
  return mark && s.slice(i, from + mark.length);
}

function isMark(s: string, from: number, mark: string): boolean {
  return from >= 0 && s.slice(from, from + mark.length).toLowerCase() === mark;
}

/**
 * Where a value ends that begins behind a mark, -1 where the text was cut off. An entity with more backslashes before it belongs
 * to the value.
 */
export function closingMark(s: string, from: number, mark: string): number {
  const bare = mark.replace(/^\\+/, '');
  for (let at = s.indexOf(bare, from); at >= 0; at = s.indexOf(bare, at + bare.length)) {
    let end = at;
    while (bare[0] === '&' && end > from && s[end - 1] === '\\') end--;
    if (at - end <= mark.length - bare.length) return end;
  }
  return -1;
}

/** What follows the first quote of `'"'"'`. */
const restOfShellQuote = /'(\\*)"'/y;

/**
 * How many characters follow the quote at i if it is the first one of `'"'"'`: a single quote in a shell's single quotes. So
 * many backslashes are before each of its double quotes. It is 0 for another quote.
 */
export function shellQuote(s: string, i: number, slashes: number): number {
  if (s[i] !== '"' || s[i - slashes - 1] !== "'") return 0;
  restOfShellQuote.lastIndex = i + 1;
  const found = restOfShellQuote.exec(s);
  return found !== null && found[1]?.length === slashes ? found[0].length : 0;
}

/** How the brackets of elements are escaped in HTML, in HTML within HTML, and in JSON. */
const angle = /<|>|&(?:amp;)?[lg]t;|&#6[02];|&#x3[ce];|\\u003[ce]/iy;

/** The bracket that begins at i, as it is written. Opens is true for the one that begins an element. */
export function angleAt(s: string, i: number): { bracket: string; opens: boolean } | undefined {
  angle.lastIndex = i;
  const bracket = angle.exec(s)?.[0];
  return bracket === undefined ? undefined : { bracket, opens: /<|l|0;|c/i.test(bracket) };
}
