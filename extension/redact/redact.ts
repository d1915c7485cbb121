/**
 * Takes secrets out of text, URLs, headers and bodies before anything leaves the worker.
 *
 * It follows host/internal/redact rule by rule and reads the same protocol/redaction.json; both are
 * held together by protocol/testdata/redact/cases.json and protocol/testdata/secrets.json. Masking
 * twice gives the same as once, with a second count of zero.
 */
import rules from '../../protocol/redaction.json';
import { seal } from '../cut';
import { decodeBase64, maskEncoded } from './encoded';
import { withoutHidden } from './hidden';
import { isSecretStrength, keyStrength, type PairRules, Stems, Words } from './keys';
import { maskListHeader } from './lists';
import { maskValues } from './looks';
import { maskPairs } from './pairs';
import { maskTable } from './table';

/** Text after masking, and how many secrets were masked in it. */
export interface Redacted {
  text: string;
  masked: number;
}

/** What stands in place of a secret. */
export const MASK: string = rules.mask;

const headers = new Set(rules.headers);
const listHeaders = new Set(rules.list_headers);
const { keys } = rules;
const joined = (phrase: string): string => phrase.replaceAll(' ', '');
const pairs: PairRules = {
  mask: rules.mask,
  headers,
  any: new Set([...keys.any, ...keys.phrases.map(joined).filter((word) => !keys.maybe.includes(word))]),
  anyEnd: keys.any_end,
  foreign: keys.foreign,
  schemaTypes: new Set(keys.schema_types),
  known: new Map(),
  knownNames: new Map(),
  tokens: new Set(keys.tokens),
  counted: keys.counted,
  last: new Set(keys.last),
  lastEnd: keys.last_end,
  maybe: new Set(keys.maybe),
  phrases: new Set(keys.phrases),
  phraseLast: new Words(new Set(keys.phrases.map((phrase) => phrase.slice(phrase.lastIndexOf(' ') + 1)))),
  innocentLast: new Set(keys.innocent_last),
  public: new Set(keys.public),
  stems: new Stems(keys.stems),
  prose: new Set(keys.prose),
  words: new Set(keys.words),
  placeholders: new Set(keys.placeholders),
  variables: keys.variables,
  open: new Set(keys.open),
  codeFiles: keys.code_files,
  schemes: new Set(keys.schemes),
  lineSchemes: new Set(keys.line_schemes),
};

/** Masks secrets in free text: console messages, frames, error elements. */
export function redactText(text: string): Redacted {
  return redactNested(text, 0);
}

function redactNested(text: string, depth: number): Redacted {
  return withoutHidden(text, (shown) => maskText(shown, looksStructured(shown), depth));
}

/** Masks secrets in free text of which something was cut off or out, at each {@link CUT}. */
export function redactCut(text: string): Redacted {
  const whole = redactText(text);
  const sealed = seal(whole.text);
  return { text: sealed.text, masked: whole.masked + sealed.masked };
}

/** Masks secrets in structured data: JSON or a form. A page or an XML document is read as text is. */
export function redactBody(text: string): Redacted {
  const whole = withoutHidden(text, maskBody);
  const sealed = seal(whole.text);
  return { text: sealed.text, masked: whole.masked + sealed.masked };
}

function maskBody(text: string): Redacted {
  return maskText(text, !/^[ \t\n\r]*</.test(text), 0);
}

/** Masks secrets in a URL's parameters, query, fragment and user info. */
export function redactURL(url: string): Redacted {
  return withoutHidden(url, maskURL);
}

function maskURL(url: string): Redacted {
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
    const listed = listHeaders.has(name.toLowerCase())
      ? maskListHeader(value, MASK, isSecretKey)
      : { text: value, masked: 0 };
    const clean = redactText(listed.text);
    out[name] = clean.text;
    masked += listed.masked + clean.masked;
  }
  return { headers: out, masked };
}

/** Says whether the values of this key are secrets: `accessToken`, but not `password_length`. */
export function isSecretKey(key: string): boolean {
  return isSecretStrength(keyStrength(key, pairs));
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
  const clean = finish(maskPairs(text, 0, strict, pairs), depth);
  const table = maskTable(clean.text, pairs);
  return table.masked === 0 ? clean : { text: table.text, masked: clean.masked + table.masked };
}

function finish(before: Redacted, depth: number): Redacted {
  const encoded = maskEncoded(before.text, MASK, depth, (inner) => redactNested(inner, depth + 1));
  const values = maskValues(encoded.text, MASK, encodesSecret);
  return { text: values.text, masked: before.masked + encoded.masked + values.masked };
}

/** Says whether the JSON that a text encodes has a secret. */
function encodesSecret(text: string): boolean {
  const decoded = decodeBase64(text);
  return decoded !== undefined && maskBody(decoded).masked > 0;
}
