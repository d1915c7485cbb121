/**
 * Says whether a message is one that the host takes, by the rules of the table of messages. The extension's tests check
 * with it what they make.
 */
import { CodeMalformed, CodeUnknown, CodeVersion, TypeHello, Version } from './protocol';
import { EVENTS, MESSAGES, OBJECTS, type Rule, type Rules } from './protocol-rules';

/** What is wrong with a message: a code of the protocol's, and where. */
export interface Problem {
  code: string;
  message: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The first problem of a message from the extension; undefined when the host takes all of it. */
export function checkMessage(message: unknown): Problem | undefined {
  const problem = checkKind(message, 'type', MESSAGES);
  if (problem !== undefined) return problem;
  const { type, protocol } = message as Fields;
  if (type === TypeHello && protocol !== Version) return { code: CodeVersion, message: 'protocol' };
  return undefined;
}

/** The first problem of an event. */
export function checkEvent(event: unknown): Problem | undefined {
  return checkKind(event, 'kind', EVENTS);
}

/** Checks an object by the rules of what it says to be. */
function checkKind(
  value: unknown,
  by: 'type' | 'kind',
  all: Readonly<Record<string, Rules>>,
): Problem | undefined {
  if (!isObject(value)) return malformed('not an object');
  const kind = value[by];
  if (typeof kind !== 'string' || kind === '') return malformed(by);
  if (!Object.hasOwn(all, kind)) return { code: CodeUnknown, message: `${by} ${kind}` };
  return checkFields(value, all[kind] ?? {});
}

function checkFields(fields: Fields, rules: Rules): Problem | undefined {
  // What is wrong inside of a message counts only when the message itself is right.
  let inside: Problem | undefined;
  for (const [name, rule] of Object.entries(rules)) {
    const value = fields[name];
    if (value === undefined && rule.optional) continue;
    if (!isAllowed(value, rule, fields)) return malformed(name);
    const parts = rule.is === 'object' ? [value] : Array.isArray(value) ? value : [];
    for (const part of parts) inside ??= checkPart(part, rule);
  }
  return inside;
}

function checkPart(value: unknown, { is, of = '' }: Rule): Problem | undefined {
  if (is === 'events') return checkEvent(value);
  if (is !== 'object' && is !== 'objects') return undefined;
  return isObject(value) ? checkFields(value, OBJECTS[of] ?? {}) : malformed(of);
}

function isAllowed(value: unknown, rule: Rule, fields: Fields): boolean {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, since } = rule;
  switch (rule.is) {
    case 'text':
      return (
        typeof value === 'string' &&
        !(rule.filled && value === '') &&
        (rule.values === undefined || rule.values.includes(value))
      );
    case 'whole':
      return (
        Number.isSafeInteger(value) &&
        (value as number) >= min &&
        (value as number) <= max &&
        (since === undefined || value === 0 || (value as number) >= (fields[since] as number))
      );
    case 'number':
      return Number.isFinite(value) && (value as number) >= min;
    case 'flag':
      return typeof value === 'boolean';
    case 'texts':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'map':
    case 'object':
      return isObject(value);
    case 'objects':
    case 'events':
      return Array.isArray(value);
    case 'any':
      return true;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(message: string): Problem {
  return { code: CodeMalformed, message };
}
