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
  if (last === '"') return doubledBefore(s, end);
  if (last === '2' || last === '7') return quoteCodeBefore(s, end);
  if (last !== ';' && last !== "'") return 0;
  const mark = quoteMarks.find((m) => isMark(s, end - m.length, m));
  if (mark === undefined) return 0;
  let from = end - mark.length;
  while (mark[0] === '&' && s[from - 1] === '\\') from--;
  return end - from;
}

/**
 * The length of the doubled quote that ends at `end`; 0 for none. JSON has it in a cell of CSV. Backslashes may be before it, as
 * in JSON in JSON, or before each quote, as in CSV in JSON.
 */
export function doubledBefore(s: string, end: number): number {
  const second = end - 1;
  if (s[second] !== '"') return 0;
  const at = slashesFrom(s, second);
  if (s[at - 1] !== '"') return 0;
  const from = slashesFrom(s, at - 1);
  return second === at || second - at === at - 1 - from ? end - from : 0;
}

/** Where the backslashes before `at` begin. */
export function slashesFrom(s: string, at: number): number {
  let from = at;
  while (s[from - 1] === '\\') from--;
  return from;
}

const doubled = /\\*""|(\\+")\1/y;

/** The doubled quote that begins at i. */
export function doubledAt(s: string, i: number): string | undefined {
  doubled.lastIndex = i;
  return doubled.exec(s)?.[0];
}

/** The mark that begins at i, with the backslashes before an entity. */
export function quoteMarkAt(s: string, i: number): string | undefined {
  const coded = quoteCode(s, i);
  if (coded > 0) return s.slice(i, i + coded);
  let from = i;
  while (s[from] === '\\') from++;
  if (s[from] !== '&' && (s[from] !== "'" || from > i)) return undefined;
  const mark = quoteMarks.find((m) => isMark(s, from, m));
  return mark && s.slice(i, from + mark.length);
}

function isMark(s: string, from: number, mark: string): boolean {
  return from >= 0 && s.slice(from, from + mark.length).toLowerCase() === mark;
}

/** The code of a quote behind its backslashes, as encoders of JSON write it in texts of JSON. */
const coded = /\\+(?:u00|x)2[27]/y;

/** The length of the code of a quote that begins at i, with its backslashes; 0 for none. */
export function quoteCode(s: string, i: number): number {
  if (s.charCodeAt(i) !== 92) return 0;
  coded.lastIndex = i;
  return coded.exec(s)?.[0].length ?? 0;
}

/** {@link quoteCode} for the code that ends at `end`. */
export function quoteCodeBefore(s: string, end: number): number {
  const last = s.charCodeAt(end - 1);
  if ((last !== 50 && last !== 55) || s.charCodeAt(end - 2) !== 50) return 0;
  const at = s[end - 3] === 'x' ? end - 3 : end - 5;
  if (s[at] !== 'x' && !s.startsWith('u00', at)) return 0;
  const from = slashesFrom(s, at);
  return from < at ? end - from : 0;
}

/** How a separator is escaped in JSON and in HTML. */
const separator =
  /(?:\\+(?:x3[AaDd]|u003[AaDd]|u\{3[AaDd]\}|07[25])|&(?:amp;)?(?:#(?:58|61|x3[AaDd])|colon|equals);)/y;

/** What follows the backslash of one. */
const SEPARATORS = 'xu0\\';

/** The length of the separator that is escaped at i, with its backslashes; 0 for none. */
export function separatorAt(s: string, i: number): number {
  const c = s.charCodeAt(i);
  if (c !== 38 && c !== 92) return 0;
  if (c === 92 && (!SEPARATORS.includes(s[i + 1] ?? '"') || s.charCodeAt(i - 1) === 92)) return 0;
  separator.lastIndex = i;
  return separator.exec(s)?.[0].length ?? 0;
}

/**
 * Where a value ends that begins behind a mark, -1 where the text was cut off. An entity, a code or a doubled quote with more
 * backslashes before it belongs to the value.
 */
export function closingMark(s: string, from: number, mark: string): number {
  const bare = mark.replace(/^\\+/, '');
  for (let at = s.indexOf(bare, from); at >= 0; at = s.indexOf(bare, at + bare.length)) {
    let end = at;
    while (bare[0] !== "'" && end > from && s[end - 1] === '\\') end--;
    if (at - end <= mark.length - bare.length && (at > end || !/^[ux]/.test(bare))) return end;
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
const angle = /&(?:amp;)?[lg]t;|&#6[02];|&#x3[ce];|\\u003[ce]/iy;

const LESS = { bracket: '<', opens: true };
const GREATER = { bracket: '>', opens: false };

/** The bracket that begins at i, as it is written. Opens is true for the one that begins an element. */
export function angleAt(s: string, i: number): { bracket: string; opens: boolean } | undefined {
  const c = s.charCodeAt(i);
  if (c === 60) return LESS;
  if (c === 62) return GREATER;
  if (!escapeBegins.includes(s[i + 1] ?? ' ')) return undefined;
  angle.lastIndex = i;
  const bracket = angle.exec(s)?.[0];
  return bracket === undefined ? undefined : { bracket, opens: /l|0;|c/i.test(bracket) };
}

/** What follows & and \\ in an escaped bracket. */
const escapeBegins = 'aAlLgG#uU';
