/** Masks secrets that are known by their own looks; a part of redact.ts. */
import rules from '../../protocol/redaction.json';
import gitleaks from '../../protocol/redaction-gitleaks.json';
import { isBlank } from './hidden';

interface ValueRule {
  id: string;
  /** Literals of which a text must contain one, else the pattern is not tried. */
  needs: string[];
  pattern: string;
  /** What was found and matches this is no secret. */
  unless?: string;
  /** What begins and what ends a match stays; both may name groups of the pattern. */
  keep?: string;
  after?: string;
  /** Asks for a secret in the JSON that the match encodes. */
  base64?: boolean;
  /** Asks for the check digit of a payment card. */
  luhn?: boolean;
}

interface Looks extends Omit<ValueRule, 'unless'> {
  /** Made when the rule is first tried. */
  find: RegExp | undefined;
  unless: RegExp | undefined;
  /** Its place among the rules. */
  order: number;
}

const looks: readonly Looks[] = [...(rules.values as ValueRule[]), ...gitleaks.values].map(
  (rule: ValueRule, order) => ({
    ...rule,
    order,
    find: undefined,
    unless: rule.unless === undefined ? undefined : new RegExp(rule.unless),
  }),
);

/** A literal that a rule needs, and the code of its third character, 0 if it has two. */
interface Need {
  literal: string;
  third: number;
  rule: Looks;
}

/** The literals that rules need, by their first two characters, so that a text is read once for all. */
const literals: Need[][] = [[]];
const starts = new Uint16Array(1 << 14);
/** Rules with a literal of one character, which are asked one by one. */
const others: Looks[] = [];
/** Rules about numbers of cards. */
const cards = looks.filter((rule) => rule.luhn === true);
for (const rule of looks) {
  for (const need of rule.needs) {
    if (need.length < 2) {
      others.push(rule);
      continue;
    }
    const pair = pairOf(need.charCodeAt(0), need.charCodeAt(1));
    if (starts[pair] === 0) starts[pair] = literals.push([]) - 1;
    const third = need.length > 2 ? need.charCodeAt(2) : 0;
    literals[starts[pair] ?? 0]?.push({ literal: need, third, rule });
  }
}

function pairOf(first: number, second: number): number {
  return first < 128 && second < 128 ? (first << 7) | second : 0;
}

/** The rules whose patterns are worth a try on a text, in their order. */
function applying(text: string): readonly Looks[] {
  const found = others.filter((rule) => rule.needs.some((need) => text.includes(need)));
  let digits = 0; // in a row; one or two blanks, or a dash, a dot, an underscore or a plus may stand between them
  let gap = 0; // 1 behind a blank, 2 where only a digit may follow
  let cardsFound = false;
  let last = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 48 && c <= 57) {
      gap = 0;
      if (++digits === MIN_CARD && !cardsFound) {
        found.push(...cards);
        cardsFound = true;
      }
    } else if (digits > 0) {
      const blank = c === 32 || c === 9;
      const divides = blank || c === 43 || c === 45 || c === 46 || c === 95 || (c > 127 && isBlank(text[i]));
      if (gap === 0 && divides) gap = blank ? 1 : 2;
      else if (gap === 1 && blank) gap = 2;
      else digits = gap = 0;
    }
    const list = c < 128 ? starts[(last << 7) | c] : 0;
    last = c < 128 ? c : 0;
    if (list !== undefined && list !== 0) addNeeding(text, i - 1, list, found);
  }
  return found.length < 2 ? found : found.sort((a, b) => a.order - b.order);
}

/** Adds the rules with a literal of a list that begins at a place, where its first two characters are. */
function addNeeding(text: string, at: number, list: number, to: Looks[]): void {
  const needs = literals[list] ?? [];
  const next = text.charCodeAt(at + 2);
  for (let i = 0; i < needs.length; i++) {
    const need = needs[i] as Need;
    if (need.third !== 0 && need.third !== next) continue;
    if (text.startsWith(need.literal, at) && !to.includes(need.rule)) to.push(need.rule);
  }
}

/** Applies every rule whose literals the text contains. */
export function maskValues(
  text: string,
  mask: string,
  encodesSecret: (text: string) => boolean,
): { text: string; masked: number } {
  const apply = applying(text);
  let clean = text;
  let masked = 0;
  for (const rule of apply) {
    const whole = clean;
    rule.find ??= new RegExp(rule.pattern, 'g');
    clean = whole.replace(rule.find, (found: string, ...rest: unknown[]) => {
      const from = rest.find((part) => typeof part === 'number') as number;
      if (rule.unless?.test(found) === true || (rule.luhn === true && !luhn(found))) return found;
      if (rule.base64 === true && !encodesSecret(found)) return found;
      if (cutsMask(whole, from, mask) || cutsMask(whole, from + found.length, mask)) return found;
      const groups = rest as (string | undefined)[];
      const keep = expand(rule.keep, groups);
      const after = expand(rule.after, groups);
      if (found.slice(keep.length, found.length - after.length) === mask) return found;
      masked++;
      return keep + mask + after;
    });
  }
  return { text: clean, masked };
}

/** Says whether a place lies inside a mask: what is found there is part of one. */
function cutsMask(s: string, at: number, mask: string): boolean {
  return s.slice(Math.max(0, at - mask.length + 1), at + mask.length - 1).includes(mask);
}

function expand(template: string | undefined, groups: readonly (string | undefined)[]): string {
  return template?.replace(/\$(\d)/g, (_, n: string) => groups[Number(n) - 1] ?? '') ?? '';
}

/** How many digits the shortest number of a card has. */
const MIN_CARD = 14;

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
