/**
 * Turns what a page passed to the console into the text that a person sees there. Where Chromium has left
 * something out of a value, {@link CUT} stands in it.
 */
import type { Protocol } from 'devtools-protocol';
import { CUT } from '../page/records';

type RemoteObject = Protocol.Runtime.RemoteObject;
type ObjectPreview = Protocol.Runtime.ObjectPreview;
type PropertyPreview = Protocol.Runtime.PropertyPreview;

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
      return errorHead(value.description ?? value.className ?? 'Error');
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
  if (preview.entries !== undefined) {
    const entries = preview.entries.map(({ key, value }) =>
      key === undefined ? describeNested(value) : `${describeNested(key)} => ${describeNested(value)}`,
    );
    return `${preview.description ?? ''} {${[...entries, ...more].join(', ')}}`;
  }
  if (preview.subtype === 'array' || preview.subtype === 'typedarray') {
    const items = preview.properties.map((p) =>
      /^\d+$/.test(p.name) ? property(p) : `${p.name}: ${property(p)}`,
    );
    const prefix = preview.subtype === 'typedarray' ? `${preview.description ?? ''} ` : '';
    return `${prefix}[${[...items, ...more].join(', ')}]`;
  }
  const fields = preview.properties.map((p) => `${p.name}: ${property(p)}`);
  const name =
    preview.description === undefined || preview.description === 'Object' ? '' : `${preview.description} `;
  return `${name}{${[...fields, ...more].join(', ')}}`;
}

/** A preview inside a preview: primitives have only a description. */
function describeNested(preview: ObjectPreview): string {
  const description = preview.description === undefined ? undefined : abbreviated(preview.description);
  if (preview.type === 'string') return `'${description ?? ''}'`;
  if (preview.type !== 'object' || preview.subtype === 'null') return description ?? preview.type;
  return preview.properties.length > 0 ? describePreview(preview) : (description ?? '{}');
}

/** How long a value in a preview may be, in UTF-16 units; a longer one has an ellipsis in its middle or at its end. */
const MAX_PREVIEWED = 100;

/** A value of a preview, with {@link CUT} where Chromium has cut it. */
export function abbreviated(value: string): string {
  if (value.length !== MAX_PREVIEWED) return value;
  const at = value[MAX_PREVIEWED / 2] === '…' ? MAX_PREVIEWED / 2 : MAX_PREVIEWED - 1;
  return value[at] === '…' ? value.slice(0, at) + CUT + value.slice(at) : value;
}

function property(p: PropertyPreview): string {
  const value = p.value === undefined ? undefined : abbreviated(p.value);
  switch (p.type) {
    case 'string':
      return `'${value ?? ''}'`;
    case 'function':
      return 'ƒ';
    case 'accessor':
      return '(...)';
    case 'object':
      if (p.subtype === 'null') return 'null';
      if (p.valuePreview !== undefined) return describeNested(p.valuePreview);
      return value === 'Object' || value === undefined ? '{…}' : errorHead(value);
    default:
      return value ?? p.type;
  }
}
