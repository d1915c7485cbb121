/** Whether the value of a pair is a secret; a part of redact.ts. */
import { keyStrength, type PairRules, type Strength } from './keys';
import { isMessage } from './messages';
import { MAX_SCHEME, type ValueAt } from './pair-value';
import { closingQuote, skipSpace } from './quotes';

/** The length of the shortest token. */
export const MIN_TOKEN = 16;

/** A longer value without quotes is data: no word or expression is so long. */
const MAX_UNQUOTED = 1000;

export function isSecretValue(
  s: string,
  at: ValueAt,
  key: Strength,
  structured: boolean,
  rules: PairRules,
): boolean {
  const { to, quoted } = at;
  const from = behindMasks(s, at, rules);
  const value = s.slice(from, to);
  const listed = !quoted && (value.startsWith('{') || value.startsWith('['));
  if (!quoted && !listed && value.length > MAX_UNQUOTED) return true;
  if (key === 'maybe' && !listed && !looksLikeToken(value, quoted || structured, rules)) return false;
  if (quoted ? version.test(value) : reference.test(value)) return false;
  if (value === '' || isPlaceholder(value, rules) || isMessage(s, { from, to, quoted }, rules)) return false;
  if (key === 'maybe' && !quoted && value.startsWith('{')) return structured && hasTokens(value, rules);
  if (key === 'maybe' && !quoted && value.startsWith('[')) {
    const parts = value.split(/[[\]", \t\r\n]+/);
    const secret = (part: string): boolean => looksSecret(part, true, rules) && /[A-Za-z]/.test(part);
    return structured && parts.some(secret) && !value.includes('{');
  }
  if (key === 'maybe') return true;
  if (key === 'weak' && startsLikePath(value)) return false;
  if (structured) return true;
  const code = !quoted && (isVariable(value, rules) || isProgram(value, rules));
  if (key === 'weak') return looksSecret(value, quoted, rules) && !code;
  if (quoted) return true;
  return !code && !rules.prose.has(value.replace(/[.!?:]+$/, '').toLowerCase());
}

/**
 * Where a value begins that has a mask in front, as what was masked before and what only looks like it have. Nothing but
 * cuts, blanks and masks is left of a value that was masked.
 */
function behindMasks(s: string, { from, to }: ValueAt, { mask }: PairRules): number {
  let at = from;
  while (at + mask.length <= to && s.startsWith(mask, at)) {
    at += mask.length;
    while (at < to && '… \t\r\n'.includes(s[at] ?? '')) at++;
  }
  return at;
}

/** Says whether nothing is left of a value that was masked. */
export function isMasked(s: string, value: ValueAt, rules: PairRules): boolean {
  return s[value.from] === '[' && behindMasks(s, value, rules) === value.to;
}

/**
 * Says whether a value is not a word of a sentence: it has digits, or is long and in both cases. A mask
 * in it is no evidence, nor is what follows, else masking twice would mask more.
 */
export function looksSecret(whole: string, delimited: boolean, { mask }: PairRules): boolean {
  const at = whole.indexOf(mask.slice(0, -1)); // a value ends before a bracket
  const value = at < 0 ? whole : whole.slice(0, at);
  if (/\d/.test(value)) return value.length >= 6 && (delimited || value.length >= 8);
  return value.length >= 16 && !/[ \t\n]/.test(whole) && /[A-Z]/.test(value) && /[a-z]/.test(value);
}

/** Says whether a value looks secret and is one word with a letter. */
export function looksLikeToken(value: string, delimited: boolean, rules: PairRules): boolean {
  return !/[ \t\n]/.test(value) && looksSecret(value, delimited, rules) && /[A-Za-z]/.test(value);
}

/** Says whether a value stands where a secret would, and is none: null, ••••, [REDACTED]. */
export function isPlaceholder(value: string, rules: PairRules): boolean {
  const word = value.replace(/^[[\]{}()<>*•.!]+|[[\]{}()<>*•.!]+$/g, '');
  return (
    word === '' ||
    sized.test(word) ||
    (word.length <= MAX_SCHEME && rules.placeholders.has(word.toLowerCase()))
  );
}

/** How browsers write a list that they do not show. */
const sized = /^(?:Array|Map|Set)\(\d+$/;

/** Says whether an object says of which type a value is, as JSON Schema and OpenAPI do. */
export function isSchema(object: string, rules: PairRules): boolean {
  if (object.startsWith('"$ref"', skipSpace(object, 1))) return true;
  return rules.schemaTypes.has(schema.exec(object)?.[1] ?? '');
}

/** An object that begins with a type, perhaps behind its description. */
const schema =
  /^\{[ \t\r\n]*(?:"description"[ \t\r\n]*:[ \t\r\n]*"(?:[^"\\]|\\.)*"[ \t\r\n]*,[ \t\r\n]*)?"type"[ \t\r\n]*:[ \t\r\n]*"([A-Za-z]*)"/;

/** What Java writes for an object that cannot be shown: its class with a hash. */
const reference = /^(?:(?:[a-z_][\w$]*\.)+[A-Z][\w$]*@[0-9a-f]{1,8}|[A-Z][A-Za-z]*\{[0-9a-f]{5,8}\b.*)$/;

/** A version, or a range of them, of a package that is named like a secret. */
const version = /^[\^~<>= ]*\d{1,4}\.\d{1,4}\.\d{1,4}$/;

/** Says whether a value is the name of a variable in GraphQL, a shell, a template or a program. */
function isVariable(value: string, rules: PairRules): boolean {
  return rules.variables.some(
    (begin) => value.startsWith(begin) && /^[A-Za-z_.]+$/.test(value.slice(begin.length)),
  );
}

/** What a program has where a value would be: a call, another assignment, a part of an object with a short name, !0. */
const program =
  /^(?:[a-z_$][A-Za-z_$.]*\(|[a-z_$]\w*(?:\.\w+)+\(|[A-Za-z_$]{1,2}\([A-Za-z_$.]*$|[A-Za-z_$]+(?:\.[A-Za-z_$]+)+=[A-Za-z_$[]|[A-Za-z_$]\.[A-Za-z_$.]+(?:\|\||&&|\?|$)|![01]$|!![A-Za-z_$])/;

/** A name of several words. Its first word begins with a small letter, if the others have them. */
const variable = /^(?:[a-z_$]+(?:[A-Z][a-z]*)+|[A-Z]+(?:_[A-Z]+)+|[A-Za-z_$]+(?:\.[A-Za-z_$]+)+)$/;

/** Says whether a value without quotes is an expression: a call, or a variable that is named like a secret. */
function isProgram(value: string, rules: PairRules): boolean {
  return program.test(value) || (variable.test(value) && keyStrength(value, rules) !== 'innocent');
}

/** Says whether a value, or the first of a list, is a path beside a file: packages list what they export so. */
export function startsLikePath(value: string): boolean {
  return /^[[ \t\r\n"]*\.\.?\//.test(value);
}

/** Says whether an object under a key such as `tokens` has a token, by its own keys. */
function hasTokens(object: string, rules: PairRules): boolean {
  let key = '';
  for (let i = 0; i < object.length; i++) {
    if (object[i] !== '"') continue;
    const from = i + 1;
    i = closingQuote(object, from, '"', 0);
    const text = object.slice(from, i);
    if (object[skipSpace(object, i + 1)] === ':') {
      key = text.toLowerCase();
      continue;
    }
    if (
      rules.tokens.has(key) &&
      text.length >= MIN_TOKEN &&
      looksSecret(text, true, rules) &&
      !/[ \t\n]/.test(text)
    ) {
      return true;
    }
    key = '';
  }
  return false;
}
