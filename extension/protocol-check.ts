/**
 * Says whether a message is one that the host takes, by the rules of host/internal/event. Both sides
 * are held to the same files (protocol/testdata); the extension's tests check with it what they make.
 */
import {
  CodeMalformed,
  CodeUnknown,
  CodeVersion,
  KindAction,
  KindConsole,
  KindElement,
  KindGap,
  KindNavigation,
  KindNetwork,
  KindRequest,
  KindWebSocket,
  TypeEvents,
  TypeHello,
  TypeRequest,
  TypeResponse,
  TypeTabs,
  Version,
} from './protocol';

/** What is wrong with a message: a code of the protocol's, and where. */
export interface Problem {
  code: string;
  message: string;
}

type Fields = Record<string, unknown>;
type Rule = (value: unknown) => boolean;

const whole =
  (least: number): Rule =>
  (v) =>
    Number.isSafeInteger(v) && (v as number) >= least;
const text: Rule = (v) => typeof v === 'string';
const filled: Rule = (v) => typeof v === 'string' && v !== '';
const flag: Rule = (v) => typeof v === 'boolean';
const object: Rule = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const number: Rule = (v) => typeof v === 'number' && v >= 0;
const oneOf =
  (...values: string[]): Rule =>
  (v) =>
    typeof v === 'string' && values.includes(v);
const maybe =
  (rule: Rule): Rule =>
  (v) =>
    v === undefined || rule(v);

const head = { at: whole(1), tab: whole(0), masked: maybe(whole(0)) };
const target = maybe(oneOf('iframe', 'worker', 'service_worker'));
const ask = { id: filled, method: filled, url: filled, resource: maybe(text) };

const kinds: Record<string, Record<string, Rule>> = {
  [KindConsole]: {
    level: oneOf('error', 'warning', 'info', 'log', 'debug'),
    via: oneOf('console', 'exception', 'rejection', 'browser'),
    category: maybe(text),
    text,
    length: maybe(whole(0)),
    url: maybe(text),
    line: maybe(whole(0)),
    column: maybe(whole(0)),
    stack: maybe((v) => Array.isArray(v) && v.every(text)),
    request: maybe(text),
    target,
  },
  [KindRequest]: ask,
  [KindNetwork]: {
    ...ask,
    status: (v) => whole(0)(v) && (v as number) <= 999,
    error: maybe(text),
    canceled: maybe(flag),
    cached: maybe(flag),
    stream: maybe(flag),
    backfilled: maybe(flag),
    started: whole(0),
    duration: number,
    mime: maybe(text),
    size: maybe(whole(0)),
    request_headers: maybe(object),
    response_headers: maybe(object),
    request_body: maybe(text),
    response_body: maybe(text),
    body_note: maybe(text),
    target,
  },
  [KindWebSocket]: {
    id: filled,
    url: filled,
    op: oneOf('open', 'sent', 'received', 'close', 'error'),
    text: maybe(text),
    size: maybe(whole(0)),
    binary: maybe(flag),
    code: maybe(whole(0)),
    reason: maybe(text),
    leaving: maybe(flag),
  },
  [KindAction]: {
    action: oneOf('click', 'type', 'select', 'submit', 'key'),
    target: text,
    selector: maybe(text),
    value: maybe(text),
    frame: maybe(whole(0)),
  },
  [KindElement]: {
    op: oneOf('appeared', 'changed', 'gone', 'reset'),
    frame: whole(0),
    document: text,
    id: whole(0),
    selector: maybe(text),
    text: maybe(text),
  },
  [KindNavigation]: {
    how: oneOf('load', 'reload', 'history', 'hash', 'crash'),
    url: filled,
    title: maybe(text),
  },
  [KindGap]: { from: whole(1), to: whole(0), reason: filled, dropped: maybe(whole(0)) },
};

const paused = maybe(
  (value) =>
    object(value) &&
    check(value as Fields, {
      by: maybe(text),
      reason: filled,
      at: whole(1),
      place: maybe(text),
      kind: maybe(text),
    }) === undefined,
);

const tab = {
  id: whole(0),
  url: maybe(text),
  title: maybe(text),
  watched: maybe(flag),
  capture: maybe(text),
  dom: maybe(flag),
  active: maybe(flag),
  note: maybe(text),
  paused,
  paused_part: paused,
};

const messages: Record<string, Record<string, Rule>> = {
  [TypeHello]: {
    protocol: whole(1),
    extension: filled,
    browser: filled,
    instance: filled,
    stream: filled,
    first: whole(1),
  },
  [TypeEvents]: { stream: filled, first: whole(1), events: Array.isArray },
  [TypeTabs]: { tabs: Array.isArray },
  [TypeRequest]: { id: whole(1), method: filled },
  [TypeResponse]: { id: whole(1) },
};

/** The first problem of a message from the extension; undefined when the host takes all of it. */
export function checkMessage(message: unknown): Problem | undefined {
  if (!object(message)) return malformed('the message is not an object');
  const fields = message as Fields;
  if (!filled(fields.type)) return malformed('type');
  const rules = messages[fields.type as string];
  if (rules === undefined) return { code: CodeUnknown, message: `type ${fields.type}` };
  const problem = check(fields, rules);
  if (problem !== undefined) return problem;
  if (fields.type === TypeHello && fields.protocol !== Version)
    return { code: CodeVersion, message: 'protocol' };
  for (const event of (fields.events as unknown[] | undefined) ?? []) {
    const wrong = checkEvent(event);
    if (wrong !== undefined) return wrong;
  }
  for (const item of (fields.tabs as unknown[] | undefined) ?? []) {
    const wrong = object(item) ? check(item as Fields, tab) : malformed('tab');
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** The first problem of an event. */
export function checkEvent(event: unknown): Problem | undefined {
  if (!object(event)) return malformed('an event is not an object');
  const fields = event as Fields;
  if (!filled(fields.kind)) return malformed('kind');
  const rules = kinds[fields.kind as string];
  if (rules === undefined) return { code: CodeUnknown, message: `kind ${fields.kind}` };
  const problem = check(fields, { ...head, ...rules });
  if (problem !== undefined) return problem;
  const { from, to } = fields as { from?: number; to?: number };
  if (from !== undefined && to !== undefined && to !== 0 && to < from) return malformed('from and to');
  return undefined;
}

function check(fields: Fields, rules: Record<string, Rule>): Problem | undefined {
  const wrong = Object.entries(rules).find(([name, rule]) => !rule(fields[name]));
  return wrong === undefined ? undefined : malformed(wrong[0]);
}

function malformed(message: string): Problem {
  return { code: CodeMalformed, message };
}
