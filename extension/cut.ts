/**
 * Where a text was cut before it could be masked. A rule knows a secret by the whole of it: of one that is cut in
 * two, what remains would pass. So what touches a cut and may be a part of one is masked.
 */
import { mask as MASK } from '../protocol/redaction.json';
import { CUT } from './page/records';

/** So much of a secret says nothing of it: 8 of the 16 characters and more that tokens and cards have. */
const TELLING = 8;
/** The longest run that is read across a cut. */
const MAX_RUN = 4 << 10;

/** Where words, values and quotations end. */
const ENDS = new Set(' \t\r\n\u00a0\'"`<>(){}[],;|\\…\u0013');

function isEnd(text: string, at: number): boolean {
  return at < 0 || at >= text.length || ENDS.has(text[at] as string);
}

function isDigit(text: string, at: number): boolean {
  const c = text.charCodeAt(at);
  return c >= 48 && c <= 57;
}

/** Where the run that ends, or begins, at a place begins or ends; groups of digits belong together. */
function edge(text: string, from: number, step: -1 | 1): number {
  let at = from;
  const next = (): number => (step < 0 ? at - 1 : at);
  while (Math.abs(at - from) < MAX_RUN) {
    if (!isEnd(text, next())) at += step;
    else if (text[next()] === ' ' && isDigit(text, next() + step) && isDigit(text, next() - step)) at += step;
    else break;
  }
  return at;
}

/** A word of a language, an abbreviation, a small number. */
const word = /^(?:[A-Za-z]?[a-z]*|[A-Z]{1,12}|\d{1,4})$/;

/** Groups of digits. */
const digits = /^\d[\d -]*$/;

/** Whether every part of a path is a word. */
function isPath(run: string): boolean {
  return run.includes('/') && run.split(/[^A-Za-z0-9]+/).every((part) => word.test(part));
}

/** Whether a run that no cut touches looks like a token or a number of a card all the same. */
function isToken(run: string): boolean {
  return run.length > TELLING && /\d/.test(run) && !isPath(run) && !/^https?:/.test(run);
}

/** What is left of the run before a cut. */
function before(run: string): string {
  if (run.length <= TELLING) return run;
  if (isPath(run)) {
    const at = run.lastIndexOf('/') + 1;
    return run.length - at <= TELLING ? run : run.slice(0, at) + MASK;
  }
  return (/^https?:\/\/[a-z0-9.:-]+\//i.exec(run)?.[0] ?? '') + MASK;
}

/** What is left of the run behind a cut. */
function after(run: string): string {
  if (run.length <= TELLING) return run;
  const at = isPath(run) ? run.indexOf('/') : -1;
  if (at < 0) return MASK;
  return at <= TELLING ? run : MASK + run.slice(at);
}

/** Masks what touches each {@link CUT} of a text in which whole secrets are masked already. */
export function seal(text: string): { text: string; masked: number } {
  let at = text.indexOf(CUT);
  if (at < 0) return { text, masked: 0 };
  let out = '';
  let masked = 0;
  let from = 0;
  for (; at >= 0; at = text.indexOf(CUT, from)) {
    const last = text[at - 1] === ' ' && isDigit(text, at - 2) ? at - 1 : at;
    const begin = Math.max(from, edge(text, last, -1));
    const run = text.slice(begin, at);
    const rest = at + CUT.length + (text[at + CUT.length] === '…' ? 1 : 0);
    const end = edge(text, rest, 1);
    const tail = text.slice(rest, end);
    // Of a card, what is left on both sides of a cut counts together.
    const kept =
      digits.test(run) && digits.test(tail) && run.length + tail.length > TELLING ? MASK : before(run);
    if (kept !== run) masked++;
    // A value that is masked up to the cut goes on behind it.
    const through = text.endsWith(MASK, at) || kept.endsWith(MASK);
    const keptTail = through && tail !== '' ? MASK : after(tail);
    if (keptTail !== tail && !through) masked++;
    out += text.slice(from, begin) + kept + text.slice(at + CUT.length, rest) + keptTail;
    from = end;
    // A cut may have gone through what a secret is known by, and have left the secret.
    const next = edge(text, end + 1, 1);
    if (isToken(text.slice(end + 1, next))) {
      out += text.slice(end, end + 1) + MASK;
      from = next;
      masked++;
    }
  }
  return { text: out + text.slice(from), masked };
}

/** The first `most` units of a text; a run that the cut divides is masked unless it is a word, or short. */
export function cutWhole(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const end = last >= 0xd800 && last < 0xdc00 ? most - 1 : most;
  const begin = edge(text, end, -1);
  const run = text.slice(begin, edge(text, end, 1));
  if (end - begin <= TELLING || word.test(run.replace(/[.:!?]+$/, '')) || isPath(run))
    return text.slice(0, end);
  return text.slice(0, begin) + MASK;
}
