/**
 * Takes secrets out of text, URLs, headers and bodies before anything leaves the worker.
 *
 * It follows host/internal/redact rule by rule and reads the same protocol/redaction.json; both are
 * held together by protocol/testdata/redact/cases.json and protocol/testdata/secrets.json. Masking
 * twice gives the same as once, with a second count of zero.
 */
import rules from '../../protocol/redaction.json';
import { seal } from '../cut';
import { maskEncoded } from './encoded';
import { keyStrength, type PairRules } from './keys';
import { maskValues } from './looks';
import { maskPairs } from './pairs';

/** Text after masking, and how many secrets were masked in it. */
export interface Redacted {
  text: string;
  masked: number;
}

/** What stands in place of a secret. */
export const MASK: string = rules.mask;

const headers = new Set(rules.headers);
const { keys } = rules;
const pairs: PairRules = {
  mask: rules.mask,
  headers,
  any: new Set([...keys.any, ...keys.phrases.map((phrase) => phrase.replaceAll(' ', ''))]),
  anyEnd: keys.any_end,
  last: new Set(keys.last),
  lastEnd: keys.last_end,
  maybe: new Set(keys.maybe),
  phrases: keys.phrases.map((phrase) => ` ${phrase} `),
  phraseLast: new Set(keys.phrases.map((phrase) => phrase.slice(phrase.lastIndexOf(' ') + 1))),
  innocentLast: new Set(keys.innocent_last),
  public: new Set(keys.public),
  stems: new RegExp(keys.stems.join('|'), 'i'),
  prose: new Set(keys.prose),
  words: new Set(keys.words),
  placeholders: new Set(keys.placeholders),
  variables: keys.variables,
  open: new Set(keys.open),
  schemes: new Set(keys.schemes),
  lineSchemes: new Set(keys.line_schemes),
};

/** Masks secrets in free text: console messages, frames, error elements. */
export function redactText(text: string): Redacted {
  return redactNested(text, 0);
}

function redactNested(text: string, depth: number): Redacted {
  return maskText(text, looksStructured(text), depth);
}

/** Masks secrets in free text of which something was cut off or out, at each {@link CUT}. */
export function redactCut(text: string): Redacted {
  const whole = redactText(text);
  const sealed = seal(whole.text);
  return { text: sealed.text, masked: whole.masked + sealed.masked };
}

/** Masks secrets in structured data: JSON or a form. A page or an XML document is read as text is. */
export function redactBody(text: string): Redacted {
  const whole = maskText(text, !/^[ \t\n\r]*</.test(text), 0);
  const sealed = seal(whole.text);
  return { text: sealed.text, masked: whole.masked + sealed.masked };
}

/** Masks secrets in a URL's parameters, query, fragment and user info. */
export function redactURL(url: string): Redacted {
  const at = url.search(/[;?#]/);
  const query = at < 0 ? { text: url, masked: 0 } : maskPairs(url, at, true, pairs);
  return finish(query, 0);
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
  const strength = keyStrength(key, pairs);
  return strength === 'weak' || strength === 'strong';
}

/** Says whether a header's value is a secret as a whole. */
export function isSecretHeader(name: string): boolean {
  return headers.has(name.toLowerCase()) || isSecretKey(name);
}

/** JSON: an object or an array, perhaps behind the digits and the namespace that socket.io puts before it. */
const structured = /^(?:\d{1,4}(?:\/[^,]*,|\/)?)?[ \t\n\r]*(?:\{[ \t\n\r]*["}]|\[[ \t\n\r]*[{"[])/;

function looksStructured(s: string): boolean {
  return structured.test(s);
}

/** Pairs first: the value of a pair is masked as a whole, whatever it looks like. */
function maskText(text: string, strict: boolean, depth: number): Redacted {
  return finish(maskPairs(text, 0, strict, pairs), depth);
}

function finish(before: Redacted, depth: number): Redacted {
  const encoded = maskEncoded(before.text, MASK, depth, (inner) => redactNested(inner, depth + 1));
  const values = maskValues(encoded.text, MASK);
  return { text: values.text, masked: before.masked + encoded.masked + values.masked };
}
