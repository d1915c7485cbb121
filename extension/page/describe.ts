/**
 * What a person would read in the console of the values that a page logs. Getters are never run, and a
 * proxy is looked at through its own traps only as far as listing keys needs it.
 */
import { abbreviated, bare, keyText, quoted } from './literal';
import {
  getOwnPropertyDescriptor,
  getPrototypeOf,
  getter,
  isA,
  isArray,
  ownKeys,
  slice,
  text,
  unbound,
} from './natives';
import { MAX_TEXT } from './records';

/** How many entries and fields of an object are shown, as Chromium's console does. */
const MAX_FIELDS = 5;
const MAX_ITEMS = 100;

const objectToString = unbound(Object.prototype.toString) as (value: unknown) => string;
const dateText = unbound(Date.prototype.toString) as (value: unknown) => string;
const regExpText = unbound(RegExp.prototype.toString) as (value: unknown) => string;
const mapSize = getter<number>(Map.prototype, 'size');
const setSize = getter<number>(Set.prototype, 'size');
const eachOfMap = unbound(Map.prototype.forEach);
const eachOfSet = unbound(Set.prototype.forEach);
const nodeType = getter<number>(Node.prototype, 'nodeType');
const nodeName = getter<string>(Node.prototype, 'nodeName');
const elementId = getter<string>(Element.prototype, 'id');
const attribute = unbound(Element.prototype.getAttribute) as (
  element: unknown,
  name: string,
) => string | null;
const lower = unbound(String.prototype.toLowerCase) as (text: string) => string;
const split = unbound(String.prototype.split) as (text: string, by: string) => string[];
const functionText = unbound(Function.prototype.toString) as (fn: unknown) => string;
const join = unbound(Array.prototype.join) as (list: string[], by: string) => string;
const plain = Object.prototype;
const trunc = Math.trunc;
const number = Number;
const nan = Number.NaN;
const isNaNNative = Number.isNaN;
const isErrorNative = (Error as { isError?: (value: unknown) => boolean }).isError;

/** Whether a value is an error, a `DOMException` among them. */
export function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false;
  return isErrorNative === undefined ? objectToString(value) === '[object Error]' : isErrorNative(value);
}

type Kind = 'plain' | 'node' | 'date' | 'regexp' | 'map' | 'set';
const nodes = Node.prototype;
const dates = Date.prototype;
const regexps = RegExp.prototype;
const maps = Map.prototype;
const sets = Set.prototype;

/** What an object is by its prototypes, which costs less than asking each class. */
function kindOf(value: object): Kind {
  for (let at = getPrototypeOf(value), depth = 0; at !== null && at !== plain && depth < 12; depth++) {
    if (at === nodes) return 'node';
    if (at === dates) return 'date';
    if (at === regexps) return 'regexp';
    if (at === maps) return 'map';
    if (at === sets) return 'set';
    at = getPrototypeOf(at);
  }
  return 'plain';
}

/** A property's value if it is plain data, here or on a prototype. */
function data(value: object, name: PropertyKey): unknown {
  for (let at: object | null = value, depth = 0; at !== null && depth < 8; at = getPrototypeOf(at), depth++) {
    const descriptor = getOwnPropertyDescriptor(at, name);
    if (descriptor !== undefined) return descriptor.value;
  }
  return undefined;
}

const exceptionName = isA(getter<string>(DOMException.prototype, 'name'));
const exceptionMessage = getter<string>(DOMException.prototype, 'message');

/** "TypeError: x is not a function". */
export function errorHead(error: Error): string {
  const own = exceptionName(error);
  const name = own ?? data(error, 'name');
  const message = own === undefined ? data(error, 'message') : exceptionMessage(error);
  const head = typeof name === 'string' && name !== '' ? name : 'Error';
  return typeof message === 'string' && message !== '' ? `${head}: ${message}` : head;
}

/**
 * An error with what caused it, and with the first errors of a group, if they are known without running code:
 * "Error: not saved (cause: Error: disk is full)", "AggregateError: no mirror (errors: [Error: one, Error: two])".
 */
export function errorText(error: Error): string {
  const cause = getOwnPropertyDescriptor(error, 'cause')?.value;
  const errors = getOwnPropertyDescriptor(error, 'errors')?.value;
  let behind = cause === undefined ? '' : `cause: ${nested(cause)}`;
  if (isArray(errors) && errors.length > 0)
    behind += `${behind === '' ? '' : ', '}errors: ${items(errors, 'Array', MAX_FIELDS)}`;
  return behind === '' ? errorHead(error) : `${errorHead(error)} (${behind})`;
}

/** The text of a console call. */
export function format(args: readonly unknown[]): string {
  const first = args[0];
  let next = 0;
  let out = '';
  if (typeof first === 'string') {
    next = 1;
    out = first;
    if (args.length > 1 && first.length <= MAX_TEXT) {
      let rest = '';
      let from = 0;
      for (let at = 0; at < first.length - 1; at++) {
        if (first[at] !== '%') continue;
        const verb = first[at + 1] as string;
        const piece = verb === '%' ? '%' : next < args.length ? substitute(verb, args[next]) : undefined;
        if (piece === undefined) continue;
        if (verb !== '%') next++;
        rest += slice(first, from, at) + piece;
        at++;
        from = at + 1;
      }
      out = from === 0 ? first : rest + slice(first, from);
    }
  }
  for (let i = next; i < args.length && out.length <= MAX_TEXT; i++) {
    const piece = describe(args[i]);
    out = i === 0 ? piece : `${out} ${piece}`;
  }
  return out;
}

/** One place of a format string; undefined when it is none. */
function substitute(verb: string, value: unknown): string | undefined {
  switch (verb) {
    case 'c':
      return '';
    case 'd':
    case 'i': {
      const n = trunc(numeric(value));
      return isNaNNative(n) ? 'NaN' : text(n);
    }
    case 'f':
      return text(numeric(value));
    case 's':
    case 'o':
    case 'O':
      return describe(value);
    default:
      return undefined;
  }
}

function numeric(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' || typeof value === 'bigint'
    ? number(value)
    : nan;
}

/** One value as the console shows it. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'bigint':
      return `${text(value)}n`;
    case 'function':
      return functionHead(value);
    case 'object':
      try {
        return value === null ? 'null' : describeObject(value, true);
      } catch {
        return 'Object';
      }
    default:
      return text(value);
  }
}

function functionHead(fn: object): string {
  const name = getOwnPropertyDescriptor(fn, 'name')?.value;
  const known = typeof name === 'string' ? name : '';
  return slice(functionText(fn), 0, 5) === 'class' ? `class ${known}` : `ƒ ${known}()`;
}

/** The name of an object's class; empty for a plain object. */
function className(value: object): string {
  const prototype = getPrototypeOf(value);
  if (prototype === null || prototype === plain) return '';
  const maker = data(prototype, 'constructor');
  const name = typeof maker === 'function' ? getOwnPropertyDescriptor(maker, 'name')?.value : undefined;
  return typeof name === 'string' && name !== 'Object' ? bare(name) : '';
}

function describeObject(value: object, deep: boolean): string {
  if (isError(value)) return deep ? errorText(value) : bare(errorHead(value));
  const name = className(value);
  if (isArray(value)) return deep ? items(value, name) : `Array(${value.length})`;
  const kind = name === '' ? 'plain' : kindOf(value);
  switch (kind) {
    case 'node':
      return deep ? describeNode(value) : bare(describeNode(value));
    case 'date':
      return dateText(value);
    case 'regexp':
      return deep ? regExpText(value) : abbreviated(regExpText(value));
    case 'map':
    case 'set': {
      const size = kind === 'map' ? mapSize(value) : setSize(value);
      return deep ? entries(value, size, name, kind === 'map') : `${name}(${size})`;
    }
  }
  if (!deep) return name === '' ? '{…}' : name;
  const keys = ownKeys(value);
  let out = '';
  let shown = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as PropertyKey;
    const descriptor = getOwnPropertyDescriptor(value, key);
    if (descriptor?.enumerable !== true) continue;
    if (shown++ === MAX_FIELDS) {
      out += ', …';
      break;
    }
    out += `${out === '' ? '' : ', '}${keyText(text(key))}: ${field(descriptor)}`;
  }
  return `${name === '' ? '' : `${name} `}{${out}}`;
}

function field(descriptor: PropertyDescriptor): string {
  return descriptor.get === undefined && descriptor.set === undefined ? nested(descriptor.value) : '(...)';
}

function nested(value: unknown): string {
  if (typeof value === 'string') return quoted(abbreviated(value));
  if (typeof value === 'function') return 'ƒ';
  if (typeof value === 'symbol') return bare(text(value));
  if (typeof value === 'bigint') return abbreviated(describe(value));
  return typeof value === 'object' && value !== null ? describeObject(value, false) : describe(value);
}

function items(list: readonly unknown[], name: string, most = MAX_ITEMS): string {
  let out = '';
  for (let i = 0; i < list.length && i < most; i++) {
    const descriptor = getOwnPropertyDescriptor(list, i);
    out += `${i === 0 ? '' : ', '}${descriptor === undefined ? '' : field(descriptor)}`;
  }
  return `${name === 'Array' ? '' : `${name} `}[${out}${list.length > most ? ', …' : ''}]`;
}

function entries(value: object, size: number, name: string, pairs: boolean): string {
  let out = '';
  let shown = 0;
  const add = (piece: string): void => {
    if (shown++ < MAX_FIELDS) out += `${out === '' ? '' : ', '}${piece}`;
  };
  if (!pairs) {
    eachOfSet(value, (entry: unknown) => shown < MAX_FIELDS && add(nested(entry)));
  } else {
    eachOfMap(
      value,
      (entry: unknown, key: unknown) => shown < MAX_FIELDS && add(`${nested(key)} => ${nested(entry)}`),
    );
  }
  return `${name}(${size}) {${out}${size > MAX_FIELDS ? ', …' : ''}}`;
}

function describeNode(node: object): string {
  if (nodeType(node) !== 1) return nodeName(node);
  const id = elementId(node);
  const classes = attribute(node, 'class') ?? '';
  const dotted = classes === '' ? '' : `.${join(split(classes, ' '), '.')}`;
  return `${lower(nodeName(node))}${id === '' ? '' : `#${id}`}${dotted}`;
}
