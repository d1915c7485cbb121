/** Masks secrets that are known by their own looks; a part of redact.ts. */
import rules from '../../protocol/redaction.json';

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
  /** Asks for the check digit of a payment card. */
  luhn?: boolean;
}

interface Looks extends Omit<ValueRule, 'unless'> {
  find: RegExp;
  unless: RegExp | undefined;
}

const looks: readonly Looks[] = (rules.values as ValueRule[]).map((rule) => ({
  ...rule,
  find: new RegExp(rule.pattern, 'g'),
  unless: rule.unless === undefined ? undefined : new RegExp(rule.unless),
}));

/** The literals that rules need, by their first two characters, so that a text is read once for all. */
const literals: [literal: string, rule: Looks][][] = [[]];
const starts = new Uint8Array(1 << 14);
/** Rules without a literal of two characters, which are asked one by one. */
const others: Looks[] = [];
for (const rule of looks) {
  for (const need of rule.needs) {
    if (need.length < 2) {
      others.push(rule);
      continue;
    }
    const pair = pairOf(need.charCodeAt(0), need.charCodeAt(1));
    if (starts[pair] === 0) starts[pair] = literals.push([]) - 1;
    literals[starts[pair] ?? 0]?.push([need, rule]);
  }
  if (rule.luhn === true) others.push(rule);
}

function pairOf(first: number, second: number): number {
  return first < 128 && second < 128 ? (first << 7) | second : 0;
}

/** The rules whose patterns are worth a try on a text. */
function applying(text: string): Set<Looks> {
  const found = new Set(
    others.filter((rule) =>
      rule.luhn === true ? hasDigits(text, 14) : rule.needs.some((need) => text.includes(need)),
    ),
  );
  let last = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const list = starts[pairOf(last, c)];
    last = c;
    if (list === undefined || list === 0) continue;
    for (const [literal, rule] of literals[list] ?? []) {
      if (text.startsWith(literal, i - 1)) found.add(rule);
    }
  }
  return found;
}

/** Applies every rule whose literals the text contains. */
export function maskValues(text: string, mask: string): { text: string; masked: number } {
  const apply = applying(text);
  let clean = text;
  let masked = 0;
  if (apply.size === 0) return { text, masked };
  for (const rule of looks) {
    if (!apply.has(rule)) continue;
    const whole = clean;
    clean = whole.replace(rule.find, (found: string, ...rest: unknown[]) => {
      const from = rest.find((part) => typeof part === 'number') as number;
      if (rule.unless?.test(found) === true || (rule.luhn === true && !luhn(found))) return found;
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
