/** Masks columns of tables whose header names a secret: CSV and its kin; a part of redact.ts. */
import { isSecretStrength, keyStrength, type PairRules, type Strength } from './keys';
import { isSecretValue } from './secret-value';

/** The length of the longest header that is read. */
const MAX_HEADER = 1000;

const columnName =
  /^(?:"([A-Za-z_\u0080-\uffff][\w .\-\u0080-\uffff]*)"|([A-Za-z_\u0080-\uffff][\w .\-\u0080-\uffff]*))$/;

/** What a character may be in a header, by its code: of a name, also its first one, or a sign between names. */
const [IN_NAME, FIRST, SIGN] = [1, 2, 3];
const roles = new Uint8Array(128);
for (let c = 0; c < 128; c++) {
  const text = String.fromCharCode(c);
  if (/[A-Za-z_"]/.test(text)) roles[c] = FIRST;
  else if (/[0-9 .-]/.test(text)) roles[c] = IN_NAME;
  else if (/[,;|\t]/.test(text)) roles[c] = SIGN;
}

/**
 * Masks the columns of a table that have the name of a secret key in its first line. The table ends with the first line
 * that has another number of columns. Bars may have blanks around them where a rule is below the first line.
 */
export function maskTable(s: string, rules: PairRules): { text: string; masked: number } {
  let out = '';
  let copied = 0;
  let masked = 0;
  let at = 0;
  for (let end = s.indexOf('\n'); end >= 0; end = s.indexOf('\n', at)) {
    const rule = ruleEnd(s, end + 1);
    const sign = rule < 0 ? signOf(s, at, end) : -1;
    const columns = rule >= 0 || sign >= 0 ? columnsOf(s, at, end, s[sign] ?? '', rules) : undefined;
    at = rule >= 0 && columns !== undefined ? rule + 1 : end + 1;
    while (columns !== undefined && columns.length > 1 && at < s.length) {
      const row = sign < 0 ? barredRow(s, at) : rowAt(s, at, s[sign] ?? '');
      if (row.cells.length !== columns.length) break;
      for (const [i, { from, to }] of row.cells.entries()) {
        const strength = columns[i] ?? 'innocent';
        if (!isSecretStrength(strength) || from === to) continue;
        if (!isSecretValue(s, { from, to, quoted: true }, strength, strength === 'strong', rules)) continue;
        out += s.slice(copied, from) + rules.mask;
        copied = to;
        masked++;
      }
      at = row.next;
    }
  }
  return masked === 0 ? { text: s, masked } : { text: out + s.slice(copied), masked };
}

/** Where the first sign between two names of a header is; -1 if a line is none. */
function signOf(s: string, from: number, to: number): number {
  if (to - from > MAX_HEADER) return -1;
  for (let i = from; i < to; i++) {
    const c = s.charCodeAt(i);
    const role = c > 127 ? FIRST : roles[c];
    if (role === SIGN && i > from) {
      const next = s.charCodeAt(i + 1);
      return next > 127 || roles[next] === FIRST ? i : -1;
    }
    if (role !== FIRST && (role !== IN_NAME || i === from)) return -1;
  }
  return -1;
}

/** How secret the columns of a header are; undefined if none is. Without a sign, they have bars and blanks between them. */
function columnsOf(
  s: string,
  from: number,
  end: number,
  sign: string,
  rules: PairRules,
): Strength[] | undefined {
  if (end - from > MAX_HEADER || !rules.stems.in(s, from, end)) return undefined;
  const columns: Strength[] = [];
  const line = s.slice(from, s[end - 1] === '\r' ? end - 1 : end);
  const names =
    sign === '' ? line.replace(/^[| \t\r]+|[| \t\r]+$/g, '').split(/[ \t]*\|[ \t]*/) : line.split(sign);
  for (const column of names) {
    const [whole, quoted, bare] = columnName.exec(column) ?? [];
    if (whole === undefined) return undefined;
    columns.push(keyStrength(quoted ?? bare ?? '', rules));
  }
  return columns.some(isSecretStrength) ? columns : undefined;
}

/** The cells of a row, without their quotes, and where the next one begins. There is none if quotes are wrong. */
function rowAt(s: string, at: number, sign: string): { cells: { from: number; to: number }[]; next: number } {
  const cells: { from: number; to: number }[] = [];
  for (let i = at; ; i++) {
    let from = i;
    let to: number;
    if (s[i] === '"') {
      from = i + 1;
      to = s.indexOf('"', from);
      while (to >= 0 && s[to + 1] === '"') to = s.indexOf('"', to + 2);
      if (to < 0) return { cells: [], next: s.length };
      i = to + 1;
    } else {
      while (i < s.length && s[i] !== sign && s[i] !== '\n') i++;
      to = s[i] !== sign && s[i - 1] === '\r' && i > from ? i - 1 : i;
    }
    cells.push({ from, to });
    if (s[i] === '\r' && s[i + 1] === '\n') i++;
    if (i >= s.length || s[i] === '\n') return { cells, next: i + 1 };
    if (s[i] !== sign) return { cells: [], next: s.length };
  }
}

/** A line that divides a header from its rows, as psql, MySQL and Markdown have it: ---+---, |---|:-:|. */
const ruleLine = /[-+|: \t\r]*(?=\n|$)/y;

/** Where the line ends that begins at a place, if it is one that divides; -1 for others. */
function ruleEnd(s: string, at: number): number {
  ruleLine.lastIndex = at;
  const line = ruleLine.exec(s)?.[0] ?? '';
  return line.length <= MAX_HEADER && line.includes('--') && /[+|]/.test(line) ? at + line.length : -1;
}

/** The cells of a row with bars between them, and around them in a frame, and where the next one begins. */
function barredRow(s: string, at: number): { cells: { from: number; to: number }[]; next: number } {
  const newline = s.indexOf('\n', at);
  const last = newline < 0 ? s.length : newline;
  const shown = trimmed(s, at, last);
  const from = shown.from + (s[shown.from] === '|' ? 1 : 0);
  const to = Math.max(from, shown.to - (s[shown.to - 1] === '|' ? 1 : 0));
  const cells: { from: number; to: number }[] = [];
  for (let begin = from; begin <= to; ) {
    const bar = s.indexOf('|', begin);
    const end = bar < 0 || bar > to ? to : bar;
    cells.push(trimmed(s, begin, end));
    begin = end + 1;
  }
  return { cells, next: last + 1 };
}

/** A part of a text without the blanks around it. */
function trimmed(s: string, from: number, to: number): { from: number; to: number } {
  let [begin, end] = [from, to];
  while (end > begin && isSpace(s[end - 1])) end--;
  while (begin < end && isSpace(s[begin])) begin++;
  return { from: begin, to: end };
}

function isSpace(c: string | undefined): boolean {
  return c === ' ' || c === '\t' || c === '\r';
}
