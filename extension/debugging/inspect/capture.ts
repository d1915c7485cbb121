/**
 * Reads what objects hold, level by level, many at a time.
 *
 * Nothing of the page is run: properties are read by the debugger, which tells accessors and proxies as what they
 * are. What is evaluated beside that is made of syntax alone, works on objects that are no proxies, and may have no
 * side effect.
 */
import type { Protocol } from 'devtools-protocol';
import { type DebugField, type DebugKey, KeyIndex } from '../../protocol';
import { maskHeld } from './held-secrets';
import { empty, keyOf, literal, privateKey, type Read, read, readProperty } from './values';

type Remote = Protocol.Runtime.RemoteObject;

/** Sends a command to the thread that is read. */
export type Ask = <T>(method: string, params: object) => Promise<T>;

/** What one capture may cost. */
export interface Limits {
  /** Fields of one object, and of all together. */
  readonly fields: number;
  readonly all: number;
  /** Milliseconds. */
  readonly ms: number;
}

export const LIMITS: Limits = { fields: 1000, all: 20_000, ms: 4000 };

/** The most objects identified in one capture; comparing them takes quadratic time. */
const MAX_KNOWN = 1500;
/** How many commands are under way at a time. */
const AT_ONCE = 200;

/**
 * Knows objects again. The page's objects are held in a list in the page, and compared there by `===`; a Map could be
 * the page's own. Of the objects of earlier captures only the last one's are held.
 */
export class Identities {
  /** By the id of the execution context. */
  readonly #holders = new Map<string, string>();
  #next = 1;

  forget(): void {
    this.#holders.clear();
  }

  /** Gives each object its number; 0 for one that is beyond what can be compared. */
  async of(ask: Ask, objects: readonly string[], first: boolean): Promise<number[]> {
    const some = objects.slice(0, MAX_KNOWN);
    const numbers: number[] = objects.map(() => 0);
    // Objects can be compared with those of their own context only.
    const contexts = new Map<string, number[]>();
    some.forEach((id, i) => {
      const context = id.split('.')[1] ?? '';
      contexts.set(context, [...(contexts.get(context) ?? []), i]);
    });
    for (const [context, at] of contexts) {
      const found = await this.#among(
        ask,
        context,
        at.map((i) => objects[i] ?? ''),
        first,
      );
      at.forEach((i, n) => {
        numbers[i] = found[n] ?? 0;
      });
    }
    return numbers;
  }

  async #among(ask: Ask, context: string, ids: string[], first: boolean): Promise<number[]> {
    const holder = this.#holders.get(context);
    const call = async (object: string, on: boolean): Promise<number[]> => {
      const { result } = await ask<Protocol.Runtime.CallFunctionOnResponse>('Runtime.callFunctionOn', {
        objectId: object,
        functionDeclaration: on ? KNOW : BEGIN,
        arguments: [{ value: this.#next }, { value: first }, ...ids.map((objectId) => ({ objectId }))],
        objectGroup: IDENTITIES,
        ...(on && { returnByValue: true }),
        silent: true,
      });
      if (!on) {
        if (result.objectId === undefined) return [];
        this.#holders.set(context, result.objectId);
        return await call(result.objectId, true);
      }
      const numbers = String(result.value).split(',').slice(0, -1).map(Number);
      this.#next = Math.max(this.#next, ...numbers.map((n) => n + 1));
      return numbers;
    };
    try {
      return await call(holder ?? ids[0] ?? '', holder !== undefined);
    } catch {
      // The context of that number is another one by now.
      this.#holders.delete(context);
      if (holder === undefined) return [];
      return await call(ids[0] ?? '', false).catch(() => []);
    }
  }
}

/** The object group that keeps objects for later recognition. */
export const IDENTITIES = 'tidemark-identities';

const BEGIN = 'function () { return { __proto__: null, head: null, turn: 0 } }';

/** Only syntax: what is looked up is the list's own, and comparing runs nothing. */
const KNOW = `function (next, first, ...objects) {
  if (first) {
    const oldest = this.turn++;
    let last = null;
    for (let n = this.head; n !== null; n = n.next) {
      if (n.turn >= oldest) last = n;
      else if (last === null) this.head = n.next;
      else last.next = n.next;
    }
  }
  let out = '';
  for (let a = 0; a < objects.length; a++) {
    let n = this.head;
    while (n !== null && n.object !== objects[a]) n = n.next;
    if (n === null) n = this.head = { __proto__: null, object: objects[a], number: next++, turn: 0, next: this.head };
    n.turn = this.turn;
    out += n.number + ',';
  }
  return out;
}`;

/** Counts properties up to a limit, those of prototypes too. It is not run where that could change something. */
const COUNT = `function (most, ...objects) {
  let out = '';
  for (let a = 0; a < objects.length; a++) {
    let n = 0;
    for (const key in objects[a]) if (++n > most) break;
    out += n + ',';
  }
  return out;
}`;

/** The begin of a long array. */
const BEGINNING = `function (most) {
  const out = { __proto__: null };
  for (let i = 0; i < most; i++) out[i] = this[i];
  return out;
}`;

/** What a date is as a number. It is not run where that could change something. */
const NUMBER = 'function () { return +this }';

/** One element of a long array. */
const ELEMENT = 'function (at) { return { __proto__: null, at: this[at] } }';

/** Puts the entries of a Map or Set side by side; the debugger made them, with nothing of the page in between. */
const ENTRIES = `function (most) {
  const out = { __proto__: null };
  for (let i = 0; i < this.length && i < most; i++) {
    const entry = this[i];
    if ('key' in entry) out['k' + i] = entry.key;
    out['v' + i] = entry.value;
  }
  return out;
}`;

/** Reads values of one paused frame, and what they hold. */
export class Walker {
  readonly #ask: Ask;
  readonly #identities: Identities;
  readonly #limits: Limits;
  readonly #until: number;
  readonly #seen = new Set<number>();
  #fields = 0;
  #first = true;
  /** What was cut, in words. */
  readonly gaps = new Set<string>();

  constructor(ask: Ask, identities: Identities, limits: Limits = LIMITS, now = Date.now()) {
    this.#ask = ask;
    this.#identities = identities;
    this.#limits = limits;
    this.#until = now + limits.ms;
  }

  /** The properties of an object, by the debugger alone. */
  async properties(objectId: string): Promise<Protocol.Runtime.GetPropertiesResponse> {
    return await this.#ask('Runtime.getProperties', { objectId, ownProperties: true, generatePreview: true });
  }

  /** Tells shared objects as such, and reads what the others hold, so many levels down. */
  async walk(roots: readonly Read[], depth: number): Promise<void> {
    this.#fields += roots.length;
    let level: readonly Read[] = roots;
    for (let deep = 0; level.length > 0; deep++) {
      const [fresh] = await Promise.all([this.#fresh(level), this.dates(level)]);
      if (deep >= depth) return;
      const wanted = fresh.filter(opens);
      const crowded = await this.#crowded(wanted);
      const next: Read[] = [];
      for (let i = 0; i < wanted.length; i += AT_ONCE) {
        if (this.#over()) return;
        const some = wanted.slice(i, i + AT_ONCE);
        const held = await Promise.all(
          some.map(async (read, n) =>
            crowded.has(i + n) ? undefined : await this.#open(read).catch(() => undefined),
          ),
        );
        for (const [n, reads] of held.entries()) {
          const field = some[n]?.field;
          if (reads === undefined || field === undefined) continue;
          field.x = true;
          if (some[n]?.subtype !== 'error') delete field.v;
          field.f = reads.map(({ field }) => field);
          this.#fields += reads.length;
          next.push(...reads);
        }
      }
      level = next;
    }
  }

  /** The value of an object under a key, or the reason why it cannot be read. */
  async step(from: Read, key: DebugKey): Promise<Read | string> {
    const { field, object } = from;
    if (field.m === true) return 'its parent is a secret';
    if (field.o !== true || object === undefined)
      return `its parent is ${field.t === 'undefined' || field.t === 'null' ? field.t : `a ${field.t}`}`;
    if (!opens(from)) return `its parent is a ${field.t}, whose fields are not read`;
    const length = lengthName(from);
    if (length !== undefined && key.n === length && !key.k) {
      return { field: { ...key, t: 'number', v: String(field.z ?? 0) } };
    }
    if (from.overflow === true && field.z === undefined && (await this.#crowded([from])).size > 0) {
      return 'its parent has too many properties';
    }
    if (key.k === KeyIndex && length === 'length' && (key.i ?? 0) >= this.#limits.fields) {
      const one = await this.#call(object, ELEMENT, key.i ?? 0);
      const value = one === undefined ? undefined : (await this.properties(one)).result[0]?.value;
      return value === undefined ? 'no such element' : read(key, value);
    }
    const held = await this.#open(from, 10 * this.#limits.fields);
    if (held === undefined) return `its parent is a ${field.t} too large to search`;
    const found = held.find(
      ({ field: { k = '', n = '', i = 0 } }) =>
        (k === (key.k ?? '') && n === (key.n ?? '') && i === (key.i ?? 0)) ||
        // Only arrays report elements by index, but any object may have such a name.
        (key.k === KeyIndex && k === '' && n === String(key.i ?? 0)),
    );
    if (found !== undefined) return found;
    return `no such field; its fields: ${listed(held.map(({ field: { n, i } }) => n ?? `[${i}]`))}`;
  }

  #over(): boolean {
    if (this.#fields >= this.#limits.all) {
      this.gaps.add(`more than ${this.#limits.all} fields; deeper ones were not read`);
    } else if (Date.now() >= this.#until) {
      this.gaps.add(`reading took more than ${this.#limits.ms / 1000} s; deeper fields were not read`);
    } else return false;
    return true;
  }

  /** Numbers objects, and returns those that were not met before. */
  async #fresh(level: readonly Read[]): Promise<Read[]> {
    const objects = level.filter(({ field, object }) => object !== undefined && field.t !== 'function');
    if (objects.length === 0) return [];
    const numbers = await this.#identities.of(
      this.#ask,
      objects.map(({ object = '' }) => object),
      this.#first,
    );
    this.#first = false;
    return objects.filter(({ field }, i) => {
      const number = numbers[i] ?? 0;
      if (number === 0) return field.o === true;
      field.id = number;
      if (field.o !== true) return false;
      if (this.#seen.has(number)) {
        field.r = true;
        return false;
      }
      this.#seen.add(number);
      return true;
    });
  }

  /** Gives dates their milliseconds, which the debugger does not report. One that would run code keeps its text. */
  async dates(level: readonly Read[]): Promise<void> {
    const dates = level
      .filter(({ subtype, object }) => subtype === 'date' && object !== undefined)
      .slice(0, AT_ONCE);
    await Promise.all(
      dates.map(async ({ field, object }) => {
        const { result, exceptionDetails } = await this.#ask<Protocol.Runtime.CallFunctionOnResponse>(
          'Runtime.callFunctionOn',
          { objectId: object, functionDeclaration: NUMBER, silent: true, throwOnSideEffect: true },
        );
        if (exceptionDetails !== undefined || typeof result.value !== 'number') return;
        const date = new Date(result.value);
        if (!Number.isNaN(date.getTime())) field.v = date.toISOString();
      }),
    ).catch(() => undefined);
  }

  /** Which of the objects have more properties than may be read at all. */
  async #crowded(reads: readonly Read[]): Promise<Set<number>> {
    const most = 10 * this.#limits.fields;
    const crowded = new Set<number>();
    const some = [...reads.keys()].filter(
      (i) => reads[i]?.overflow === true && reads[i]?.field.z === undefined,
    );
    const count = async (at: readonly number[]): Promise<void> => {
      const ids = at.map((i) => ({ objectId: reads[i]?.object }));
      const { result, exceptionDetails } = await this.#ask<Protocol.Runtime.CallFunctionOnResponse>(
        'Runtime.callFunctionOn',
        {
          objectId: reads[at[0] ?? 0]?.object,
          functionDeclaration: COUNT,
          arguments: [{ value: most }, ...ids],
          returnByValue: true,
          silent: true,
          throwOnSideEffect: true,
        },
      );
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
      const counts = String(result.value).split(',').map(Number);
      at.forEach((i, n) => {
        if ((counts[n] ?? 0) > most) crowded.add(i);
      });
    };
    for (let i = 0; i < some.length; i += AT_ONCE) {
      const part = some.slice(i, i + AT_ONCE);
      // Where one cannot be counted, each is for itself; what cannot be counted is not opened.
      await count(part).catch(
        async () => await Promise.all(part.map(async (at) => await count([at]).catch(() => crowded.add(at)))),
      );
    }
    for (const i of crowded) {
      const read = reads[i];
      if (read !== undefined)
        this.gaps.add(`${nameOf(read.field)} has more than ${most} properties and was not opened`);
    }
    return crowded;
  }

  async #open(read: Read, most = this.#limits.fields): Promise<Read[] | undefined> {
    const { field, object = '', subtype } = read;
    const { fields } = this.#limits;
    if (subtype === 'map' || subtype === 'set') return await this.#entries(read, most);
    if ((subtype === 'array' || subtype === 'typedarray') && (field.z ?? 0) > fields) {
      const beginning = await this.#call(object, BEGINNING, fields);
      if (beginning === undefined) return undefined;
      const { result } = await this.properties(beginning);
      const first = result.map((property) => readProperty(keyOf(property, true), property));
      maskHeld(
        field,
        first.map((held) => held.field),
      );
      return first;
    }
    const { result, privateProperties = [], internalProperties = [] } = await this.properties(object);
    const indexed = subtype === 'array' || subtype === 'typedarray';
    const all = [
      ...result
        .filter(({ name, value }) => value === undefined || !hidden(name, subtype))
        .map((property) => readProperty(keyOf(property, indexed), property)),
      ...privateProperties.map((property) =>
        readProperty(privateKey(property.name), { ...property, configurable: false, enumerable: false }),
      ),
      ...internalProperties.flatMap(({ name, value }) =>
        subtype === 'promise' && value !== undefined && name.startsWith('[[Promise')
          ? [readInternal(name, value)]
          : [],
      ),
    ];
    if (subtype === 'array') fillHoles(all, field.z ?? 0);
    maskHeld(
      field,
      all.map((held) => held.field),
    );
    if (!indexed || all.length > fields) field.z = Math.max(all.length, field.z ?? 0);
    return all.slice(0, most);
  }

  async #entries({ field, object = '' }: Read, most: number): Promise<Read[] | undefined> {
    if ((field.z ?? 0) > 10 * this.#limits.fields) {
      this.gaps.add(`${nameOf(field)} is a ${field.t} of ${field.z} entries and was not opened`);
      return undefined;
    }
    const { result, internalProperties = [] } = await this.properties(object);
    const list = internalProperties.find(({ name }) => name === '[[Entries]]')?.value?.objectId;
    const flat = list === undefined ? undefined : await this.#call(list, ENTRIES, most);
    if (flat === undefined) return undefined;
    const entries = await this.properties(flat);
    const keys = new Map(entries.result.map(({ name, value }) => [name, value]));
    const reads: Read[] = [];
    const others: Read[] = [];
    for (const { name, value } of entries.result) {
      if (!name.startsWith('v') || value === undefined) continue;
      const place = Number(name.slice(1));
      const key = keys.get(`k${place}`);
      const text = literal(key ?? value);
      if (text === undefined) others.push(read({ k: 'p', i: place }, value));
      else reads.push(readEntry(key, text, value));
    }
    reads.push(...others, ...result.map((property) => readProperty(keyOf(property, false), property)));
    maskHeld(
      field,
      reads.map((held) => held.field),
    );
    field.z = Math.max(field.z ?? 0, reads.length);
    return reads;
  }

  /** Has a piece of syntax make an object out of another. */
  async #call(objectId: string, functionDeclaration: string, most: number): Promise<string | undefined> {
    const { result, exceptionDetails } = await this.#ask<Protocol.Runtime.CallFunctionOnResponse>(
      'Runtime.callFunctionOn',
      { objectId, functionDeclaration, arguments: [{ value: most }], silent: true, throwOnSideEffect: true },
    );
    return exceptionDetails === undefined ? result.objectId : undefined;
  }
}

function readEntry(key: Remote | undefined, text: string, value: Remote): Read {
  if (key === undefined) return read({ k: 'm', n: text }, value);
  // A key that names a secret does so without its quotes.
  const { field, ...rest } = read({ n: key.type === 'string' ? String(key.value) : text }, value);
  return { ...rest, field: { ...field, k: 'e', n: text } };
}

function readInternal(name: string, value: Remote): Read {
  return read({ n: name }, value);
}

/** How the size of a collection is called in code; undefined for what is none. */
function lengthName({ subtype, field: { z } }: Read): string | undefined {
  if (z === undefined) return undefined;
  return subtype === 'map' || subtype === 'set' ? 'size' : 'length';
}

/** How many holes of an array are listed one by one. */
const MAX_HOLES = 100;

/** Puts the places of an array that hold nothing among its elements. */
function fillHoles(all: Read[], size: number): void {
  const elements = all.findIndex(({ field: { k } }) => k !== KeyIndex);
  const there = elements < 0 ? all.length : elements;
  if (size <= there || size - there > MAX_HOLES) return;
  for (let i = 0; i < size; i++) {
    if (all[i]?.field.k === KeyIndex && all[i]?.field.i === i) continue;
    all.splice(i, 0, { field: { k: KeyIndex, i, t: 'empty', v: empty(1) } });
  }
}

/** What an object is called. */
function nameOf({ n, i = 0 }: DebugField): string {
  return n ?? `[${i}]`;
}

/** The first of many names, and how many more there are. */
export function listed(names: readonly string[], most = 20): string {
  if (names.length === 0) return 'none';
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Properties that say nothing about an object's state. */
function hidden(name: string, subtype: string | undefined): boolean {
  return (
    (name === 'length' && subtype === 'array') ||
    (name === 'stack' && subtype === 'error') ||
    name === '__proto__'
  );
}

/** Whether there is something to read in an object that its description does not say. */
function opens({ field, subtype = '' }: Read): boolean {
  if (field.m === true || /^(?:Window|global)$|^\w*WorkerGlobalScope$/.test(field.t)) return false;
  return ![
    'proxy',
    'node',
    'date',
    'regexp',
    'weakmap',
    'weakset',
    'generator',
    'iterator',
    'arraybuffer',
    'dataview',
  ].includes(subtype);
}
