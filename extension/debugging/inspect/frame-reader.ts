/** Reads the variables of a paused frame. */
import type { Protocol } from 'devtools-protocol';
import { CodedError } from '../../coded-error';
import {
  CodeInvalid,
  type DebugField,
  type DebugKey,
  KeyIndex,
  ScopeArgument,
  ScopeBlock,
  ScopeClosure,
  ScopeExpression,
  ScopeLocal,
  ScopeModule,
  ScopeThis,
} from '../../protocol';
import { isSecretKey } from '../../redact/redact';
import type { Script, Thread, Threads } from '../thread';
import { type Binding, bindingsOf, placesOf, type Range, translated } from './bindings';
import { type Ask, IDENTITIES, Identities, listed, type Walker } from './capture';
import { isMinified } from './minified';
import { parameterNames } from './parameters';
import { Secrets } from './secrets';
import { keyOf, type Read, read, readProperty } from './values';

type Frame = Protocol.Debugger.CallFrame;

/** How long an expression may take, in ms. */
const EXPRESSION_MS = 500;
/** Scopes that belong to the function of the frame. */
export const OWN = [ScopeLocal, ScopeArgument, ScopeThis, ScopeBlock];

/** A variable of a scope. */
export interface Scoped {
  readonly scope: string;
  readonly read: Read;
  /** What is known of the variable's name. */
  readonly binding?: Binding;
}

/** What is kept of a thread while it is debugged. */
interface Known {
  readonly identities: Identities;
  /** The parameters of functions, by where they begin. */
  readonly parameters: Map<string, string[] | undefined>;
  /** What the variables of scopes are called, by where these begin. */
  readonly bindings: Map<string, { names: ReadonlyMap<string, Binding>; unknown: boolean }>;
}

const sessions = new WeakMap<Threads, Map<number, Known>>();

/** What is kept of a thread of a session. */
export function knownOf(session: Threads, thread: Thread): Known {
  let threads = sessions.get(session);
  if (threads === undefined) {
    threads = new Map();
    sessions.set(session, threads);
    session.on((event) => {
      if (event.type === 'gone') sessions.get(session)?.delete(event.thread.id);
      // The page's objects are the page's again.
      if (event.type !== 'ended') return;
      for (const thread of session.threads.values()) {
        void session
          .send(thread, 'Runtime.releaseObjectGroup', { objectGroup: IDENTITIES })
          .catch(() => undefined);
      }
    });
  }
  let known = threads.get(thread.id);
  if (known === undefined) {
    known = { identities: new Identities(), parameters: new Map(), bindings: new Map() };
    threads.set(thread.id, known);
  }
  return known;
}

/** Reads the scopes of one frame. */
export class FrameReader {
  readonly #session: Threads;
  readonly #thread: Thread;
  readonly #frame: Frame;
  readonly ask: Ask;
  readonly gaps: string[] = [];
  /** The texts of the secret variables that were read. */
  readonly secrets = new Secrets();

  constructor(session: Threads, thread: Thread, frame: Frame) {
    this.#session = session;
    this.#thread = thread;
    this.#frame = frame;
    this.ask = async <T>(method: string, params: object): Promise<T> =>
      (await session.send(thread, method as 'Runtime.getProperties', params as never)) as T;
  }

  /** The variables of some scopes, the innermost first. */
  async scopes(wanted: ReadonlySet<string>): Promise<Scoped[]> {
    const chain = this.#chain().filter(
      ({ scope }) => wanted.has(scope) || (scope === ScopeLocal && wanted.has(ScopeArgument)),
    );
    const parameters = wanted.has(ScopeArgument) || wanted.has(ScopeLocal) ? this.#parameters() : undefined;
    const itself = wanted.has(ScopeThis) ? this.#this() : [];
    const read = await Promise.all(
      chain.map(async ({ scope, object, range }) => ({
        scope,
        reads: await this.#variables(object, range),
      })),
    );
    const names = new Set(await parameters);
    const all: Scoped[] = [];
    for (const { scope, reads } of read) {
      for (const { read, binding } of reads) {
        const name = binding.generated;
        if (scope !== ScopeLocal) all.push({ scope, read, binding });
        else {
          const kind = names.has(name) || name === 'arguments' ? ScopeArgument : ScopeLocal;
          if (wanted.has(kind)) all.push({ scope: kind, read, binding });
        }
      }
    }
    const order = (list: Scoped[]): Scoped[] => {
      const at = [...names];
      const place = ({ binding }: Scoped): number => at.indexOf(binding?.generated ?? '');
      return list.sort((a, b) => place(a) - place(b));
    };
    const of = (scope: string): Scoped[] => all.filter((scoped) => scoped.scope === scope);
    return [
      ...of(ScopeLocal),
      ...order(of(ScopeArgument)),
      ...(await itself),
      ...of(ScopeBlock),
      ...of(ScopeClosure),
      ...of(ScopeModule),
    ];
  }

  /** The reported scopes of the frame, the innermost first, without the global scope. */
  #chain(): { scope: string; object: string; range: Range | undefined }[] {
    const { scopeChain } = this.#frame;
    const local = scopeChain.findIndex(({ type }) => type === 'local');
    const body = scopeChain[local];
    return scopeChain.flatMap(({ type, object, startLocation, endLocation }, i) => {
      const { objectId } = object;
      if (objectId === undefined || type === 'global') return [];
      // A function whose parameters have defaults keeps the variables of its body in a scope of their own.
      const same =
        body?.endLocation !== undefined &&
        endLocation?.lineNumber === body.endLocation.lineNumber &&
        endLocation.columnNumber === body.endLocation.columnNumber;
      let scope: string;
      if (i === local || (i < local && same && type === 'block' && i === local - 1)) scope = ScopeLocal;
      else if (type === 'module' || type === 'script') scope = local < 0 ? ScopeLocal : ScopeModule;
      else if (type === 'closure') scope = ScopeClosure;
      // Around a function's own scope, blocks are part of what it closes over.
      else scope = local >= 0 && i > local ? ScopeClosure : ScopeBlock;
      const range = startLocation && endLocation ? { start: startLocation, end: endLocation } : undefined;
      return [{ scope, object: objectId, range }];
    });
  }

  async #variables(objectId: string, range?: Range): Promise<{ read: Read; binding: Binding }[]> {
    const { result } = await this.ask<Protocol.Runtime.GetPropertiesResponse>('Runtime.getProperties', {
      objectId,
      ownProperties: true,
      generatePreview: true,
    });
    // Names that the language or the browser gives, not the page.
    const all = result.filter(({ name }) => name !== 'this' && !name.startsWith('.'));
    const bindings = await this.#bindings(
      all.map(({ name }) => name),
      range,
    );
    const secrets = [...bindings.values()].some(({ secret }) => secret);
    return all.map((property) => {
      const binding = bindings.get(property.name) ?? plain(property.name);
      const key = keyOf({ name: binding.name }, false);
      const text = property.value?.type === 'string';
      // What was passed under a secret's name is in `arguments` as well, under none.
      const secret =
        binding.secret || (binding.doubtful && text) || (property.name === 'arguments' && secrets);
      if (secret && text) this.secrets.add(String(property.value?.value), !binding.secret);
      return { read: readProperty(key, property, secret), binding };
    });
  }

  /** What the variables of a scope are called in the project's files. */
  async #bindings(names: readonly string[], range?: Range): Promise<ReadonlyMap<string, Binding>> {
    const at = range?.start ?? this.#frame.location;
    const script = this.#thread.scripts.get(at.scriptId);
    if (script === undefined || names.length === 0) return bindingsOf(names, undefined, false);
    const { bindings } = knownOf(this.#session, this.#thread);
    const place = `${at.scriptId}:${at.lineNumber}:${at.columnNumber ?? 0}:${range === undefined ? '' : range.end.lineNumber}`;
    let known = bindings.get(place);
    if (known === undefined || names.some((name) => known?.names.has(name) !== true)) {
      known = await this.#askNames(new Set(names), script, range);
      bindings.set(place, known);
    }
    const gap =
      'this code is minified and has no source map with variable names, so texts in variables of one or two letters are masked';
    if (known.unknown && !this.gaps.includes(gap)) this.gaps.push(gap);
    return known.names;
  }

  async #askNames(
    names: ReadonlySet<string>,
    script: Script,
    range?: Range,
  ): Promise<{ names: ReadonlyMap<string, Binding>; unknown: boolean }> {
    const { location } = this.#frame;
    const { scriptId } = range?.start ?? location;
    const { scriptSource } = await this.ask<Protocol.Debugger.GetScriptSourceResponse>(
      'Debugger.getScriptSource',
      { scriptId },
    );
    const offset = ({ lineNumber, columnNumber = 0 }: Protocol.Debugger.Location): number => {
      const row = lineNumber - script.line;
      return offsetOf(scriptSource, row, columnNumber - (row === 0 ? script.column : 0));
    };
    const from = range === undefined ? 0 : offset(range.start);
    const minified = isMinified(scriptSource, range === undefined ? offset(location) : from);
    let known: Map<string, string[]> | undefined;
    if (script.map !== '') {
      const places = placesOf(
        scriptSource,
        names,
        from,
        range === undefined ? scriptSource.length : offset(range.end),
      );
      const starts = lineStarts(scriptSource);
      const flat = [...places.values()].flat().flatMap((at) => {
        const row = rowOf(starts, at);
        const column = at - (starts[row] ?? 0);
        return [script.line + row + 1, (row === 0 ? script.column : 0) + column + 1];
      });
      const answer = await this.#session.names(script, flat);
      if (answer.known === true) {
        let next = 0;
        known = new Map();
        for (const [name, at] of places) {
          known.set(name, answer.names.slice(next, next + at.length));
          next += at.length;
        }
      }
    }
    const found = bindingsOf(names, known, minified);
    return { names: found, unknown: [...found.values()].some(({ doubtful }) => doubtful) };
  }

  /** Whether an expression has the name of a secret in it, be it that of the project's files. */
  async tellsSecret(expression: string): Promise<boolean> {
    const all = await this.scopes(new Set([...OWN, ScopeClosure, ScopeModule])).catch(() => []);
    const bindings = all.flatMap(({ binding }) => binding ?? []);
    return isSecretKey(expression) || isSecretKey(translated(expression, bindings));
  }

  /** What `this` is, unless it is nothing or the global object. */
  async #this(): Promise<Scoped[]> {
    const { this: bare, callFrameId } = this.#frame;
    const { type, subtype, className = '' } = bare;
    if (type === 'undefined' || subtype === 'null' || /^Window$|WorkerGlobalScope$/.test(className))
      return [];
    // The pause reported it without a preview.
    const { result } = await this.ask<Protocol.Debugger.EvaluateOnCallFrameResponse>(
      'Debugger.evaluateOnCallFrame',
      { callFrameId, expression: 'this', silent: true, generatePreview: true, throwOnSideEffect: true },
    );
    return [{ scope: ScopeThis, read: read({ n: 'this' }, result) }];
  }

  async #parameters(): Promise<string[]> {
    const { functionLocation: at } = this.#frame;
    if (at === undefined || !this.#frame.scopeChain.some(({ type }) => type === 'local')) return [];
    const { parameters } = knownOf(this.#session, this.#thread);
    const place = `${at.scriptId}:${at.lineNumber}:${at.columnNumber ?? 0}`;
    if (!parameters.has(place)) {
      const { scriptSource } = await this.ask<Protocol.Debugger.GetScriptSourceResponse>(
        'Debugger.getScriptSource',
        { scriptId: at.scriptId },
      );
      // The places of an inline script are those of the document.
      const { line = 0, column = 0 } = this.#thread.scripts.get(at.scriptId) ?? {};
      const row = at.lineNumber - line;
      const offset = offsetOf(scriptSource, row, (at.columnNumber ?? 0) - (row === 0 ? column : 0));
      parameters.set(place, parameterNames(scriptSource, offset));
    }
    const names = parameters.get(place);
    if (names === undefined)
      this.gaps.push('parameters could not be distinguished from other local variables');
    return names ?? [];
  }

  /** The values of expressions, if they can be evaluated without side effects. */
  async evaluate(expressions: readonly string[]): Promise<Scoped[]> {
    return await Promise.all(
      expressions.map(async (expression): Promise<Scoped> => {
        const { result, exceptionDetails } = await this.ask<Protocol.Debugger.EvaluateOnCallFrameResponse>(
          'Debugger.evaluateOnCallFrame',
          {
            callFrameId: this.#frame.callFrameId,
            expression: `(${expression}\n)`,
            silent: true,
            generatePreview: true,
            throwOnSideEffect: true,
            timeout: EXPRESSION_MS,
          },
        );
        const key = { n: expression };
        const secret = await this.tellsSecret(expression);
        if (exceptionDetails === undefined)
          return { scope: ScopeExpression, read: read(key, result, secret) };
        const { exception, text } = exceptionDetails;
        if (secret && exception !== undefined && !/side-effect/.test(exception.description ?? '')) {
          const v = `it threw ${exception.className ?? 'a value'} (its message may contain a secret)`;
          return { scope: ScopeExpression, read: { field: { ...key, t: 'unread', v } } };
        }
        const why = (exception?.description ?? text).split('\n', 1)[0] ?? '';
        const v = /side-effect/.test(why) ? 'it would change the page' : why;
        return { scope: ScopeExpression, read: { field: { ...key, t: 'unread', v } } };
      }),
    );
  }

  /** Whether a condition holds, or the reason why that is unknown. */
  async holds(condition: string): Promise<boolean | string> {
    const [result] = await this.evaluate([`!!(${condition}\n)`]);
    const { t, v = '' } = result?.read.field ?? { t: 'unread' };
    return t === 'unread' ? v : v === 'true';
  }

  /** The values at some paths, and whether all could be read as well without the debugger. */
  async values(
    paths: readonly (readonly DebugKey[])[],
    walker: Walker,
  ): Promise<{ reads: Read[]; plain: boolean; bindings: (Binding | undefined)[] }> {
    const all = this.#ordered(await this.scopes(new Set([...OWN, ScopeClosure, ScopeModule])));
    let plain = true;
    const reads = await Promise.all(
      paths.map(async ([first, ...rest]): Promise<Read> => {
        const from = named(all, first?.n ?? '');
        let at = from?.read;
        if (first === undefined || at === undefined) {
          plain = false;
          return { field: missing(first ?? {}, 'there is no such variable') };
        }
        for (const key of rest) {
          if (key.k && key.k !== KeyIndex) plain = false;
          const next = await walker.step(at, key);
          if (typeof next === 'string') {
            plain = false;
            return { field: missing(key, next) };
          }
          at = next;
        }
        plain &&= at.field.o !== true && !['function', 'symbol', 'accessor', 'unread'].includes(at.field.t);
        return at;
      }),
    );
    await walker.dates(reads);
    return { reads, plain, bindings: paths.map(([first]) => named(all, first?.n ?? '')?.binding) };
  }

  /** In order of name lookup: shadowing variables come first. */
  #ordered(all: readonly Scoped[]): Scoped[] {
    return [...all.filter(({ scope }) => scope === ScopeBlock), ...all];
  }

  /** The value at a path, the variable of the innermost scope that has it first. */
  async find(path: readonly DebugKey[], walker: Walker): Promise<Scoped> {
    const [first, ...rest] = path;
    const name = first?.n ?? '';
    const all = await this.scopes(new Set([...OWN, ScopeClosure, ScopeModule]));
    const scoped = named(this.#ordered(all), name);
    if (scoped === undefined)
      throw new CodedError(
        CodeInvalid,
        `There is no variable "${name}" in this frame. It has ${listed(
          all.map(({ read }) => read.field.n ?? ''),
          30,
        )}.`,
      );
    let at = scoped.read;
    for (const key of rest) {
      const next = await walker.step(at, key);
      if (typeof next === 'string')
        throw new CodedError(CodeInvalid, `${keyText(key)} cannot be read: ${next}.`);
      at = next;
    }
    return { scope: scoped.scope, read: at };
  }
}

/** The innermost variable of a name: that of the project's files goes before that of the code that runs. */
function named(all: readonly Scoped[], name: string): Scoped | undefined {
  return (
    all.find(({ read }) => read.field.n === name) ?? all.find(({ binding }) => binding?.generated === name)
  );
}

/** A variable of which no more is known than its name. */
function plain(name: string): Binding {
  return { generated: name, name, secret: isSecretKey(name), doubtful: false };
}

/** Where each line of a source begins. */
function lineStarts(source: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of source.matchAll(/\r\n|[\n\r\u2028\u2029]/g))
    starts.push(index + end.length);
  return starts;
}

/** The last line that begins at an offset or before it. */
function rowOf(starts: readonly number[], at: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The report of a missing step. */
function missing(key: DebugKey, why: string): DebugField {
  return { ...key, t: 'unread', v: why };
}

function keyText({ k, n = '', i = 0 }: DebugKey): string {
  return k === KeyIndex || k === 'p' ? `[${i}]` : n;
}

/** Where a line and a column are in a source. */
function offsetOf(source: string, line: number, column: number): number {
  let at = 0;
  for (let n = 0; n < line; n++) {
    const end = /\r\n|[\n\r\u2028\u2029]/g;
    end.lastIndex = at;
    if (end.exec(source) === null) return source.length;
    at = end.lastIndex;
  }
  return at + column;
}
