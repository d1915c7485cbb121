/**
 * Turns what a page passed to the console into the text that a person sees there. Where something is
 * left out of a value or a key, a mark stands in it (see page/records.ts).
 */
import type { Protocol } from 'devtools-protocol';
import { abbreviated, bare, keyText, quoted } from '../../page/literal';
import type { Send, Session } from '../context';

type RemoteObject = Protocol.Runtime.RemoteObject;
type ObjectPreview = Protocol.Runtime.ObjectPreview;
type PropertyPreview = Protocol.Runtime.PropertyPreview;

/** How many groups of errors of one entry are read, and how many errors of each are named. */
const MAX_GROUPS = 3;
const MAX_ERRORS = 5;

/** The text of a console call: its format string applied (%s %d %i %f %o %O %c), the rest joined by spaces. */
export function formatArguments(args: readonly RemoteObject[]): string {
  const [first, ...rest] = args;
  if (first === undefined) return '';
  if (first.type !== 'string') return args.map(describe).join(' ');
  let text = String(first.value);
  if (rest.length > 0 && text.includes('%')) {
    text = text.replace(/%([sdifoOc%])/g, (whole, verb: string) => {
      if (verb === '%') return '%';
      const arg = rest.shift();
      return arg === undefined ? whole : formatOne(verb, arg);
    });
  }
  return [text, ...rest.map(describe)].join(' ');
}

function formatOne(verb: string, arg: RemoteObject): string {
  switch (verb) {
    case 'c': // a style
      return '';
    case 'd':
    case 'i': {
      const n = toNumber(arg);
      return Number.isFinite(n) ? String(Math.trunc(n)) : 'NaN';
    }
    case 'f':
      return String(toNumber(arg));
    default:
      return describe(arg);
  }
}

function toNumber(arg: RemoteObject): number {
  if (arg.type === 'bigint') return Number(arg.unserializableValue?.replace(/n$/, ''));
  return arg.type === 'number' || arg.type === 'string'
    ? Number(arg.value ?? arg.unserializableValue)
    : Number.NaN;
}

/** One value as the console shows it. */
export function describe(value: RemoteObject): string {
  switch (value.type) {
    case 'string':
      return String(value.value);
    case 'undefined':
      return 'undefined';
    case 'number':
    case 'boolean':
    case 'bigint':
      return value.unserializableValue ?? String(value.value);
    case 'function':
      return functionName(value.description);
    case 'symbol':
      return value.description ?? 'Symbol()';
    default:
      return describeObject(value);
  }
}

function describeObject(value: RemoteObject): string {
  switch (value.subtype) {
    case 'null':
      return 'null';
    case 'error':
      return errorText(value);
    case 'node':
    case 'regexp':
    case 'date':
    case 'promise':
    case 'proxy':
      return value.description ?? value.className ?? 'Object';
  }
  if (value.preview !== undefined) return describePreview(value.preview);
  return value.description ?? value.className ?? 'Object';
}

/** An error without its stack, with what caused it, and with the errors of a group that was read, as in page/describe.ts. */
export function errorText({ description, className, preview }: RemoteObject): string {
  const head = errorHead(description ?? className ?? 'Error');
  const behind: string[] = [];
  for (const p of preview?.properties ?? []) {
    const known =
      p.name === 'cause' ? !/^(?:undefined|accessor)$/.test(p.type) : p.valuePreview !== undefined;
    if (known && (p.name === 'cause' || p.name === 'errors')) behind.push(`${p.name}: ${property(p)}`);
  }
  return behind.length === 0 ? head : `${head} (${behind.sort().join(', ')})`;
}

/**
 * The groups of errors among values, such as an `AggregateError`. Its preview only counts the errors, and what the debugger
 * replays has no preview.
 */
export function groupsIn(values: readonly (RemoteObject | undefined)[]): RemoteObject[] {
  const groups = values.filter((value) => value !== undefined && isGroup(value)) as RemoteObject[];
  return groups.slice(0, MAX_GROUPS);
}

function isGroup({ subtype, objectId, className, preview }: RemoteObject): boolean {
  if (subtype !== 'error' || objectId === undefined) return false;
  if (preview === undefined) return className === 'AggregateError';
  return preview.properties.some(({ name, subtype, value }) => {
    return name === 'errors' && subtype === 'array' && value !== 'Array(0)';
  });
}

/** Puts the errors of a group into its preview, by a command that runs no code of the page. */
export async function readGroup(send: Send, session: Session, group: RemoteObject): Promise<void> {
  const { result } = await send(session, 'Runtime.getProperties', {
    objectId: group.objectId ?? '',
    ownProperties: true,
    generatePreview: true,
  });
  const list = result.find(({ name }) => name === 'errors')?.value?.preview;
  if (list === undefined || list.properties.length === 0) return;
  const valuePreview = {
    ...list,
    overflow: list.overflow || list.properties.length > MAX_ERRORS,
    properties: list.properties.slice(0, MAX_ERRORS),
  };
  const { description, preview = { type: 'object', description, overflow: false, properties: [] } } = group;
  const others = preview.properties.filter(({ name }) => name !== 'errors');
  const errors = { name: 'errors', type: 'object', subtype: 'array', valuePreview } as const;
  group.preview = { ...preview, properties: [...others, errors] } as Protocol.Runtime.ObjectPreview;
}

/** An error's description without its stack: "TypeError: x is not a function". */
export function errorHead(description: string): string {
  const at = description.search(/\n\s+at /);
  return (at < 0 ? description : description.slice(0, at)).trimEnd();
}

function functionName(source = ''): string {
  const name = /^(?:async\s+)?(?:function\s*\*?\s*|class\s+)?([\w$]*)/.exec(source)?.[1] ?? '';
  return source.startsWith('class')
    ? `class ${name}`
    : `ƒ ${name === 'async' || name === 'function' ? '' : name}()`;
}

function describePreview(preview: ObjectPreview): string {
  const more = preview.overflow ? ['…'] : [];
  const { description } = preview;
  if (preview.entries !== undefined) {
    const entries = preview.entries.map(({ key, value }) =>
      key === undefined ? describeNested(value) : `${describeNested(key)} => ${describeNested(value)}`,
    );
    return `${bare(description ?? '')} {${[...entries, ...more].join(', ')}}`;
  }
  if (preview.subtype === 'array' || preview.subtype === 'typedarray') {
    const items = preview.properties.map((p) =>
      /^\d+$/.test(p.name) ? property(p) : `${keyText(p.name)}: ${property(p)}`,
    );
    const prefix = preview.subtype === 'typedarray' ? `${bare(description ?? '')} ` : '';
    return `${prefix}[${[...items, ...more].join(', ')}]`;
  }
  const fields = preview.properties.map((p) => `${keyText(p.name)}: ${property(p)}`);
  const name = description === undefined || description === 'Object' ? '' : `${bare(description)} `;
  return `${name}{${[...fields, ...more].join(', ')}}`;
}

/** A preview inside a preview: Chromium gives the texts of entries whole. */
function describeNested(preview: ObjectPreview): string {
  const { type, subtype, description, properties, entries } = preview;
  if (type === 'object' && subtype === undefined && properties.length > 0) return describePreview(preview);
  if (entries !== undefined || ((subtype === 'array' || subtype === 'typedarray') && properties.length > 0))
    return describePreview(preview);
  return shallow(type, subtype, description) ?? '{}';
}

/** A value known only by its description; undefined if it has none. */
function shallow(type: string, subtype: string | undefined, description?: string): string | undefined {
  switch (type) {
    case 'string':
      return quoted(abbreviated(description ?? ''));
    case 'function':
      return 'ƒ';
    case 'accessor':
      return '(...)';
    case 'symbol':
      return bare(description ?? type);
    case 'object':
      if (subtype === 'null') return 'null';
      if (description === undefined) return undefined;
      // A regular expression has delimiters of its own.
      if (subtype === 'regexp') return abbreviated(description);
      return bare(subtype === 'error' ? errorHead(description) : description);
    default:
      return description === undefined ? type : abbreviated(description);
  }
}

function property(p: PropertyPreview): string {
  if (p.valuePreview !== undefined && p.type === 'object') return describeNested(p.valuePreview);
  return p.type === 'object' && p.subtype === undefined && p.value === 'Object'
    ? '{…}'
    : (shallow(p.type, p.subtype, p.value) ?? '{…}');
}
