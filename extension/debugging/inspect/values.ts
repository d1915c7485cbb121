/** Converts the debugger's values for the host, without running anything in the page. */
import type { Protocol } from 'devtools-protocol';
import { abbreviated, bare, keyText } from '../../page/literal';
import { CUT } from '../../page/records';
import { type DebugField, type DebugKey, KeyPrivate, KeySymbol } from '../../protocol';
import { isSecretKey, MASK, redactCut, redactText } from '../../redact/redact';
import { isSecretUnder, maskHeld } from './held-secrets';

type Remote = Protocol.Runtime.RemoteObject;
type Property = Protocol.Runtime.PropertyDescriptor;

/** How much of a text is kept: its begin and its end, in UTF-16 units. */
const MAX_STRING = 10_000;
const MAX_FUNCTION = 200;
/** How much of a preview is reported. */
const MAX_PREVIEW = 400;
const MAX_KEY = 100;

/** A value that is being read: its report, and its id in the debugger. */
export interface Read {
  readonly field: DebugField;
  /** The debugger's id of an object. */
  readonly object?: string | undefined;
  readonly subtype?: string | undefined;
  /** Whether the object may have more properties than its preview. */
  readonly overflow?: boolean | undefined;
}

/** The key of a property. */
export function keyOf({ name, symbol }: Pick<Property, 'name' | 'symbol'>, indexed: boolean): DebugKey {
  if (symbol !== undefined) return { k: KeySymbol, n: keyName(name) };
  if (indexed && /^(?:0|[1-9]\d{0,9})$/.test(name)) return { k: 'i', i: Number(name) };
  return { n: keyName(name) };
}

/** The name of a property; of a long one the begin, without what may be a part of a secret. */
function keyName(name: string): string {
  return name.length > MAX_KEY ? redactCut(`${name.slice(0, MAX_KEY - 1)}${CUT}…`).text : name;
}

/** The key of a private field. */
export function privateKey(name: string): DebugKey {
  return { k: KeyPrivate, n: keyName(name) };
}

/** Whether a value may have a secret in it: a truth, a function and nothing have none. */
export function holdsText({ type, subtype }: Pick<Remote, 'type' | 'subtype'>): boolean {
  return type !== 'undefined' && subtype !== 'null' && type !== 'function' && type !== 'boolean';
}

/** Whether a key names a secret. */
function isSecret({ n }: DebugKey): boolean {
  return n !== undefined && isSecretKey(n);
}

/** The report of a value under its key. The value of a secret's key is masked. */
export function read(key: DebugKey, value: Remote, secret = isSecret(key)): Read {
  const { type, subtype, objectId, description = '' } = value;
  if (type === 'object' && subtype !== 'null') {
    return {
      field: objectField(key, value, secret),
      object: secret ? undefined : objectId,
      subtype,
      overflow: value.preview?.overflow ?? true,
    };
  }
  if (secret && holdsText(value)) {
    return { field: { ...key, t: type, m: true } };
  }
  switch (type) {
    case 'string':
      return { field: stringField(key, String(value.value)) };
    case 'function':
      return { field: text(key, 'function', description, MAX_FUNCTION), object: objectId, subtype };
    case 'symbol':
      return { field: text(key, 'symbol', description, MAX_FUNCTION), object: objectId, subtype };
    case 'undefined':
      return { field: { ...key, t: 'undefined', v: 'undefined' } };
    case 'object':
      return { field: { ...key, t: 'null', v: 'null' } };
    default:
      return { field: { ...key, t: type, v: value.unserializableValue ?? String(value.value) } };
  }
}

/** A string. A secret is masked, and a partly masked string says so. */
function stringField(key: DebugKey, whole: string): DebugField {
  const { text: clean, masked } = redactText(whole);
  if (clean === MASK || isSecretUnder(key.n, whole)) return { ...key, t: 'string', m: true };
  const field = text(key, 'string', whole, MAX_STRING);
  return masked > 0 ? { ...field, m: true } : field;
}

/** The report of a property; an accessor is reported as such. */
export function readProperty(key: DebugKey, property: Property, secret = isSecret(key)): Read {
  if (property.value !== undefined) return read(key, property.value, secret);
  const { get, set } = property;
  const has = (f: Remote | undefined): boolean => f !== undefined && f.type === 'function';
  if (has(get) || has(set)) {
    return {
      field: { ...key, t: 'accessor', v: [has(get) && 'get', has(set) && 'set'].filter(Boolean).join('/') },
    };
  }
  return { field: { ...key, t: 'unread', v: 'not initialized yet, or not kept by the browser' } };
}

/** The report of an object without its fields. */
function objectField(key: DebugKey, value: Remote, secret: boolean): DebugField {
  const t = typeOf(value);
  if (secret) return { ...key, t, m: true };
  const z = sizeOf(value);
  return {
    ...text(key, t, objectText(previewUnder(key, value)), MAX_PREVIEW),
    o: true,
    ...(z !== undefined && { z }),
  };
}

/** A preview without the secrets of which only the name before it says so: tokens = {access: "x"}. */
function previewUnder(key: DebugKey, value: Remote): Remote {
  const { preview } = value;
  if (preview === undefined || !/tokens$/i.test(key.n ?? '')) return value;
  const held: DebugField[] = preview.properties.map(({ name, type, value: v = '' }) => ({
    n: name,
    t: type,
    v,
  }));
  maskHeld({ ...key, t: value.type }, held);
  const properties = preview.properties.map((property, i) =>
    held[i]?.m === true ? { ...property, type: 'string' as const, value: MASK } : property,
  );
  return { ...value, preview: { ...preview, properties } };
}

/** The class of an object; a proxy's is not its target's. */
function typeOf({ subtype, className, description = '' }: Remote): string {
  if (subtype === 'proxy') return 'Proxy';
  return short(className || description || 'Object', MAX_KEY);
}

/** How many elements or entries a collection has. */
export function sizeOf({ subtype, description = '' }: Remote): number | undefined {
  if (
    !['array', 'typedarray', 'map', 'set'].includes(subtype ?? '') &&
    !/^(?:NodeList|HTMLCollection)/.test(description)
  ) {
    return undefined;
  }
  const size = /\((\d+)\)$/.exec(description)?.[1];
  return size === undefined ? undefined : Number(size);
}

/** An object on one line. */
function objectText(value: Remote): string {
  const { subtype, description = '', preview, className = '' } = value;
  switch (subtype) {
    case 'error':
      return description.replace(/\n +at [\s\S]*$/, '');
    case 'date':
    case 'regexp':
    case 'proxy':
    case 'node':
      return description;
  }
  if (preview === undefined) return description;
  const inside = previewText(preview);
  if (subtype === 'array' || subtype === 'typedarray')
    return preview.overflow ? `${description} ${inside}` : inside;
  const name = className === 'Object' ? '' : `${bare(description || className, quote)} `;
  return `${name}${inside}`;
}

function previewText(preview: Protocol.Runtime.ObjectPreview): string {
  const array = preview.subtype === 'array' || preview.subtype === 'typedarray';
  const collection = preview.subtype === 'map' || preview.subtype === 'set';
  const parts: string[] = [];
  let next = 0;
  for (const { name, type, subtype, value = '' } of preview.properties) {
    if ((collection && name === 'size') || (preview.subtype === 'typedarray' && !/^\d+$/.test(name)))
      continue;
    if (array && /^\d+$/.test(name)) {
      if (Number(name) > next) parts.push(empty(Number(name) - next));
      next = Number(name) + 1;
    }
    const secret = type !== 'accessor' && type !== 'boolean' && isSecretKey(name);
    const shown = secret ? '[masked]' : partText(type, subtype, value);
    parts.push(array && /^\d+$/.test(name) ? shown : `${keyText(name, quote)}: ${shown}`);
  }
  for (const { key, value } of preview.entries ?? []) {
    parts.push(key === undefined ? entryText(value) : `${entryText(key)} => ${entryText(value)}`);
  }
  if (preview.overflow) parts.push('…');
  const all = parts.join(', ');
  return array ? `[${all}]` : `{${all}}`;
}

/** Places of an array that hold nothing. */
export function empty(n: number): string {
  return n === 1 ? 'empty' : `empty × ${n}`;
}

function entryText(entry: Protocol.Runtime.ObjectPreview): string {
  return partText(entry.type, entry.subtype, entry.description);
}

/** A value inside an object. */
export function partText(type: string, subtype: string | undefined, text = ''): string {
  if (type === 'string') return quote(abbreviated(text));
  if (type === 'function') return 'ƒ';
  return subtype === 'regexp' ? abbreviated(text) : bare(text || subtype || type, quote);
}

/** A primitive as it reads in code, for the key of an entry; undefined for an object. */
export function literal({
  type,
  subtype,
  value,
  unserializableValue,
  description,
}: Remote): string | undefined {
  if (type === 'string') return quote(short(redactText(String(value)).text, MAX_KEY));
  if (type === 'symbol') return description ?? 'Symbol()';
  if (type === 'undefined') return 'undefined';
  if (subtype === 'null') return 'null';
  if (type === 'object' || type === 'function') return undefined;
  return unserializableValue ?? String(value);
}

/** A text in quotes as in code, in which each {@link CUT} stays. */
export function quote(s: string): string {
  const parts = s.split(CUT).map((part) => JSON.stringify(part).slice(1, -1));
  return `"${parts.join(CUT)}"`;
}

/** A text without secrets. A long text has its start and end, its length and a hash. */
function text(key: DebugKey, t: string, whole: string, most: number): DebugField {
  if (whole.length <= most) return { ...key, t, v: redactCut(whole).text };
  const half = most / 2;
  const v = redactCut(`${whole.slice(0, half)}${CUT}…${whole.slice(-half)}`).text;
  return { ...key, t, v, l: whole.length, h: hash(whole) };
}

function short(s: string, most: number): string {
  return s.length > most ? `${s.slice(0, most - 1)}…` : s;
}

/** FNV-1a over two halves: enough to detect a different text. */
function hash(s: string): string {
  let a = 0x811c9dc5;
  let b = 0x1b873593;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b ^ (c + i), 0x85ebca6b);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}
