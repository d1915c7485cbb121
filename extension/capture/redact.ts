/**
 * Takes secrets out of text, URLs, headers and bodies before anything leaves the worker.
 *
 * It follows host/internal/redact rule by rule and reads the same protocol/redaction.json; both are
 * held together by protocol/testdata/redact/cases.json. Masking twice gives the same as once, with a
 * second count of zero.
 */
import rules from '../../protocol/redaction.json';
import { keyStrength, maskPairs, type PairRules } from './redact-pairs';

/** Text after masking, and how many secrets were masked in it. */
export interface Redacted {
  text: string;
  masked: number;
}

interface ValueRule {
  id: string;
  needs: string[];
  pattern: string;
  keep?: string;
  after?: string;
  luhn?: boolean;
}

/** What stands in place of a secret. */
export const MASK: string = rules.mask;

const headers = new Set(rules.headers);
const values = (rules.values as ValueRule[]).map((rule) => ({
  ...rule,
  once: new RegExp(rule.pattern),
  all: new RegExp(rule.pattern, 'g'),
}));

const pairs: PairRules = {
  mask: rules.mask,
  any: new Set([...rules.keys.any, ...rules.keys.phrases.map((phrase) => phrase.replaceAll(' ', ''))]),
  last: new Set(rules.keys.last),
  phrases: rules.keys.phrases.map((phrase) => ` ${phrase} `),
  innocentLast: new Set(rules.keys.innocent_last),
  stems: new RegExp(rules.keys.stems.join('|'), 'i'),
  prose: new Set(rules.keys.prose),
};

/** Masks secrets in free text: console messages, frames, error elements. */
export function redactText(text: string): Redacted {
  return mend(text, looksStructured(text));
}

/** Masks secrets in structured data: JSON or a form. */
export function redactBody(text: string): Redacted {
  return mend(text, true);
}

/** Masks secrets in a URL's query, fragment and user info. */
export function redactURL(url: string): Redacted {
  const at = url.search(/[?#]/);
  if (at < 0) return maskValues(url, 0);
  const query = maskPairs(url.slice(at), true, pairs);
  return maskValues(query.masked > 0 ? url.slice(0, at) + query.text : url, query.masked);
}

/** Masks the values of secret headers whole, and secrets inside the others. */
export function redactHeaders(all: Record<string, string>): {
  headers: Record<string, string>;
  masked: number;
} {
  const out: Record<string, string> = {};
  let masked = 0;
  for (const [name, value] of Object.entries(all)) {
    if (value !== '' && value !== MASK && isSecretHeader(name)) {
      out[name] = MASK;
      masked++;
      continue;
    }
    const clean = redactText(value);
    out[name] = clean.text;
    masked += clean.masked;
  }
  return { headers: out, masked };
}

/** Says whether the values of this key are secrets: `accessToken`, but not `password_length`. */
export function isSecretKey(key: string): boolean {
  return keyStrength(key, pairs) !== 'innocent';
}

/** Says whether a header's value is a secret as a whole. */
export function isSecretHeader(name: string): boolean {
  return headers.has(name.toLowerCase()) || isSecretKey(name);
}

function looksStructured(s: string): boolean {
  return (
    s.length > 1 &&
    ((s[0] === '{' && (s[1] === '"' || s[1] === '\n')) || (s[0] === '[' && (s[1] === '{' || s[1] === '"')))
  );
}

/** Pairs first: the value of a pair is masked as a whole, whatever it looks like. */
function mend(text: string, strict: boolean): Redacted {
  const first = maskPairs(text, strict, pairs);
  return maskValues(first.text, first.masked);
}

function maskValues(text: string, masked: number): Redacted {
  let clean = text;
  let count = masked;
  for (const rule of values) {
    if (!(rule.luhn ? hasDigits(clean, 15) : rule.needs.some((need) => clean.includes(need)))) continue;
    clean = clean.replace(rule.all, (found) => {
      if (found.includes(MASK) || (rule.luhn && !luhn(found))) return found;
      count++;
      const keep = rule.keep ? keepGroups(rule.keep, rule.once.exec(found)) : '';
      return keep + MASK + (rule.after ?? '');
    });
  }
  return { text: clean, masked: count };
}

function keepGroups(keep: string, match: RegExpExecArray | null): string {
  return keep.replace(/\$(\d)/g, (_, n: string) => match?.[Number(n)] ?? '');
}

/** Says whether there are n digits in a row, single spaces or dashes between them allowed. */
function hasDigits(s: string, n: number): boolean {
  let run = 0;
  let gap = false;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 48 && c <= 57) {
      gap = false;
      if (++run === n) return true;
    } else if ((c === 32 || c === 45) && !gap) {
      gap = true;
    } else {
      run = 0;
      gap = false;
    }
  }
  return false;
}

/** Checks a card number's check digit, ISO/IEC 7812-1. */
function luhn(s: string): boolean {
  let sum = 0;
  let double = false;
  for (let i = s.length - 1; i >= 0; i--) {
    const d = s.charCodeAt(i) - 48;
    if (d < 0 || d > 9) continue;
    const doubled = double ? d * 2 : d;
    sum += doubled > 9 ? doubled - 9 : doubled;
    double = !double;
  }
  return sum % 10 === 0;
}
