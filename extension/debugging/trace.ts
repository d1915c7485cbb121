/**
 * Tracepoints: places at which values are recorded each time the page comes by, and the page runs on.
 *
 * The first time the page stands still for a moment, and the values are read as of any paused frame. If they are
 * primitives that can be reached without running anything, from then on a condition of the breakpoint reads them and is
 * never true: the page does not stop again. Otherwise it stands still for each record.
 */
import type { Protocol } from 'devtools-protocol';
import type { DebugField, DebugHit, DebugKey, DebugPlace, DebugTraced, DebugTraceParams } from '../protocol';
import { isSecretKey, redactText } from '../redact/redact';
import { LIMITS, Walker } from './inspect/capture';
import { FrameReader, knownOf } from './inspect/frame-reader';
import { isSecretUnder } from './inspect/held-secrets';
import type { DebugSession } from './session';
import type { Thread } from './thread';

/** How long an unread trace keeps recording, in ms. */
const UNREAD_MS = 5 * 60_000;
/** How much of a string a running page reports. */
const MAX_TEXT = 200;

/** Conditions that run nothing but themselves: names, literals, comparisons; no calls, no fields, no assignments. */
const SIMPLE = /^(?:\s|[\w$]+|"[^"\\\n]*"|'[^'\\\n]*'|===|!==|[<>]=?|&&|\|\||[-+*%!]|\((?!\s*\))|\))*$/;
const CALL = /[\w$)]\s*\(|\+\+|--|\b(?:new|delete|await|yield|in|of|instanceof)\b/;

/** The traces of a session, by the host's id. */
const traces = new WeakMap<DebugSession, Map<string, Trace>>();

/** Answers {@link MethodDebugTrace}: sets a trace, or returns the records of the one with the id. */
export async function trace(session: DebugSession, params: DebugTraceParams): Promise<DebugTraced> {
  let all = traces.get(session);
  if (all === undefined) {
    all = new Map();
    traces.set(session, all);
  }
  let found = all.get(params.id);
  if (found === undefined) {
    const { id } = params;
    found = new Trace(session, params, () => all.delete(id));
    all.set(id, found);
    try {
      await found.begin();
    } catch (error) {
      await found.end();
      throw error;
    }
  } else await found.move(params.places);
  await found.wait(params.wait_ms);
  const told = found.told();
  if (found.full) await found.end();
  return told;
}

class Trace {
  readonly #session: DebugSession;
  readonly #params: DebugTraceParams;
  readonly #paths: readonly (readonly DebugKey[])[];
  readonly #gone: () => void;
  #places: readonly DebugPlace[];
  readonly #name = `tidemark_${crypto.randomUUID().replaceAll('-', '')}`;
  /** The browser's ids of the breakpoints, by thread. */
  readonly #set = new Map<number, string[]>();
  readonly #hits: DebugHit[] = [];
  readonly #waiting = new Set<() => void>();
  #came = 0;
  #passed = 0;
  #error = '';
  #off: () => void = () => undefined;
  #unfollow: () => Promise<void> = () => Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;
  /** Whether the page can report the values while it runs, once that is known. */
  #fast: boolean | undefined;
  /** What the code that runs calls the variables of the paths. */
  #names: readonly string[] = [];

  constructor(session: DebugSession, params: DebugTraceParams, gone: () => void) {
    this.#session = session;
    this.#params = params;
    this.#places = params.places;
    this.#paths = params.paths ?? [];
    this.#gone = gone;
  }

  get full(): boolean {
    return this.#ended || this.#hits.length >= this.#params.limit;
  }

  async begin(): Promise<void> {
    const { condition = '' } = this.#params;
    if (condition !== '') await this.#session.breakpoints.checkCondition(condition);
    this.#off = this.#session.on((event) => {
      if (event.type === 'thread') void this.#place(event.thread).catch(() => undefined);
      if (event.type === 'gone') this.#set.delete(event.thread.id);
      if (event.type === 'ended') void this.end();
    });
    const { id, original = false } = this.#params;
    this.#unfollow = await this.#session.breakpoints.follow(id, {
      original,
      move: async (places) => await this.move(places),
    });
    await Promise.all([...this.#session.threads.values()].map(async (thread) => await this.#place(thread)));
  }

  /** Code has the place that was not known to have it. What it calls the variables is read at its first hit. */
  async move(places: readonly DebugPlace[]): Promise<void> {
    if (this.full || JSON.stringify(places) === JSON.stringify(this.#places)) return;
    this.#places = places;
    if (this.#fast === true) this.#fast = undefined;
    await Promise.all([...this.#session.threads.values()].map(async (thread) => await this.#again(thread)));
  }

  async #place(thread: Thread): Promise<void> {
    const ids: string[] = [];
    this.#set.set(thread.id, ids);
    // All are sent before anything is waited for: a new thread runs soon.
    await Promise.all(
      this.#places.map(async (place) => {
        const { breakpointId, locations } = await this.#session.breakpoints.placeNamed(
          thread,
          place,
          this.#name,
          this.#condition(),
        );
        ids.push(breakpointId);
        this.#session.breakpoints.probe(thread, breakpointId, {
          locations,
          hit: async (event) => await this.#stands(thread, event),
        });
      }),
    );
  }

  async #unplace(thread: Thread): Promise<void> {
    const ids = this.#set.get(thread.id) ?? [];
    this.#set.delete(thread.id);
    for (const id of ids) {
      this.#session.breakpoints.unprobe(thread, id);
      await this.#session
        .send(thread, 'Debugger.removeBreakpoint', { breakpointId: id })
        .catch(() => undefined);
    }
  }

  /** Resolves when there are enough hits, or the time is over. */
  wait(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), ms + UNREAD_MS);
    if (this.full || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }

  told(): DebugTraced {
    const locations = [...this.#set].flatMap(([id, ids]) => {
      const thread = this.#session.threads.get(id);
      return thread === undefined
        ? []
        : ids.flatMap((id) => this.#session.breakpoints.probeLocations(thread, id));
    });
    return {
      session: this.#session.began,
      locations,
      hits: this.#hits,
      ...(this.#passed > 0 && { passed: this.#passed }),
      ...(this.#error !== '' && { error: this.#error }),
    };
  }

  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#off();
    this.#gone();
    void this.#unfollow();
    for (const done of [...this.#waiting]) done();
    await Promise.all([...this.#session.threads.values()].map(async (thread) => await this.#silence(thread)));
  }

  async #silence(thread: Thread): Promise<void> {
    await this.#unplace(thread);
    if (this.#fast !== true) return;
    this.#session.unbind(this.#name);
    await this.#session.send(thread, 'Runtime.removeBinding', { name: this.#name }).catch(() => undefined);
  }

  /** Whether a hit counts; those between are counted too. */
  #counts(): boolean {
    const { every = 1, limit } = this.#params;
    const wanted = this.#came++ % every === 0 && this.#hits.length < limit;
    if (!wanted) this.#passed++;
    return wanted;
  }

  #add(hit: DebugHit): void {
    this.#hits.push(hit);
    if (!this.full) return;
    for (const done of [...this.#waiting]) done();
    for (const thread of this.#session.threads.values()) void this.#unplace(thread);
  }

  /** The page is paused at the place: reads the values and resumes it. */
  async #stands(thread: Thread, event: Protocol.Debugger.PausedEvent): Promise<void> {
    const frame = event.callFrames[0];
    if (frame === undefined || this.full) return;
    const { condition = '' } = this.#params;
    const reader = new FrameReader(this.#session, thread, frame);
    if (condition !== '') {
      const holds = await reader.holds(condition);
      if (typeof holds === 'string') {
        const known = this.#error !== '';
        this.#error = `condition: ${holds}`;
        if (!known) await this.#again(thread);
      }
      if (holds !== true) return;
    }
    if (!this.#counts()) return;
    const fast = this.#fast;
    const at = Date.now();
    const walker = new Walker(reader.ask, knownOf(this.#session, thread).identities, { ...LIMITS, ms: 1000 });
    const hit: DebugHit = {
      at,
      thread: thread.id,
      ...(frame.functionName !== '' && { function: frame.functionName }),
    };
    if (this.#paths.length === 0) {
      const found = await reader.scopes(new Set(['local', 'argument', 'this', 'block']));
      await walker.walk(
        found.map(({ read }) => read),
        0,
      );
      reader.secrets.hide(found.map(({ read }) => read.field));
      hit.variables = found.map(({ scope, read }) => ({ scope, value: read.field }));
    } else {
      const { reads, plain, bindings } = await reader.values(this.#paths, walker);
      hit.values = reads.map(({ field }) => field);
      this.#names = bindings.map((binding) => binding?.generated ?? '');
      // A secret never leaves the page; by what the code that runs calls it, it is not known as one.
      const secret = bindings.some((binding) => binding?.secret === true || binding?.doubtful === true);
      const masked = hit.values.some(({ m }) => m === true);
      if (reader.secrets.hide(hit.values) || secret || masked) this.#fast = false;
      // Each thread and document is given its own way; a value that is no primitive is read as here each time.
      if (this.#fast !== false) this.#fast = plain && this.#simple() && (await this.#bind(thread, frame));
    }
    this.#add(hit);
    if (this.#fast !== fast && !this.full) {
      // From now on the page reports without pausing, or no longer does.
      await this.#again(thread);
    }
  }

  /** Sets the breakpoint again with the current condition. */
  async #again(thread: Thread): Promise<void> {
    await this.#unplace(thread);
    await this.#place(thread);
  }

  #simple(): boolean {
    const { condition = '' } = this.#params;
    return SIMPLE.test(condition) && !CALL.test(condition);
  }

  /** Gives the page's code a way to report values; false if that would run page code. */
  async #bind(thread: Thread, { callFrameId }: Protocol.Debugger.CallFrame): Promise<boolean> {
    const { send } = { send: this.#session.send.bind(this.#session) };
    const native = async (name: string): Promise<string | undefined> => {
      const { result } = await send(thread, 'Debugger.evaluateOnCallFrame', {
        callFrameId,
        expression: `Object.${name}`,
        silent: true,
        throwOnSideEffect: true,
      });
      const genuine =
        result.subtype !== 'proxy' && result.description === `function ${name}() { [native code] }`;
      return genuine ? result.objectId : undefined;
    };
    const [property, prototype] = await Promise.all([
      native('getOwnPropertyDescriptor'),
      native('getPrototypeOf'),
    ]);
    if (property === undefined || prototype === undefined) return false;
    if (this.#session.own) await send(thread, 'Runtime.enable');
    await send(thread, 'Runtime.addBinding', { name: this.#name });
    this.#session.bind(this.#name, (thread, payload) => this.#tells(thread, payload));
    const { exceptionDetails } = await send(thread, 'Runtime.callFunctionOn', {
      objectId: property,
      functionDeclaration: TELL,
      arguments: [
        { objectId: prototype },
        { value: this.#name },
        { value: Math.ceil(this.#params.limit * (this.#params.every ?? 1)) + 1 },
        { value: MAX_TEXT },
      ],
      silent: true,
    });
    return exceptionDetails === undefined;
  }

  /** The condition of the breakpoint. The page pauses while it is unknown how to report. */
  #condition(): string {
    const { condition = '' } = this.#params;
    // A throwing condition would be logged as an error of the page. Once reported to the agent, it just does not hold.
    const thrown = this.#fast !== true && this.#error === '';
    const wanted =
      condition !== '' && this.#simple()
        ? `(() => { try { return !!(${condition}\n) } catch { return ${thrown} } })() && `
        : '';
    if (this.#fast !== true) return wanted === '' ? '' : `${wanted}true`;
    const reads = this.#paths.map(([first, ...rest], i) => {
      const keys = rest.map(({ n, i }) => `, ${JSON.stringify(n ?? String(i ?? 0))}`).join('');
      return `() => [${this.#names[i] || (first?.n ?? '')}${keys}]`;
    });
    const name = this.#name;
    return `${wanted}(typeof ${name} !== 'function' || typeof ${name}.tell !== 'function' || ${name}.tell(${reads.join(', ')}))`;
  }

  /** The page reported the values of one hit. */
  #tells(thread: Thread, payload: string): void {
    if (this.#ended || !this.#counts()) return;
    const values: DebugField[] = [];
    let rest = payload;
    for (const path of this.#paths) {
      const [, kind = '', length = '0', whole = '0'] = /^(.)(\d+)\/(\d+):/.exec(rest) ?? [];
      const from = 3 + length.length + whole.length;
      values.push(fieldOf(path, kind, rest.slice(from, from + Number(length)), Number(whole)));
      rest = rest.slice(from + Number(length));
    }
    this.#add({ at: Date.now(), thread: thread.id, values });
  }
}

const kinds: Readonly<Record<string, string>> = {
  s: 'string',
  n: 'number',
  b: 'boolean',
  g: 'bigint',
  u: 'undefined',
  l: 'null',
};

function fieldOf(path: readonly DebugKey[], kind: string, text: string, whole: number): DebugField {
  const n = path.at(-1)?.n ?? '';
  const t = kinds[kind] ?? 'unread';
  if (isSecretKey(n) && 'sng'.includes(kind)) return { n, t, m: true };
  if (kind === 's' && isSecretUnder(n, text)) return { n, t, m: true };
  if (kind === 'a') return { n, t: 'accessor', v: 'get' };
  if (kind === 'x') return { n, t, v: 'missing, or not initialized yet' };
  return { n, t, v: redactText(text).text, ...(whole > text.length && { l: whole, h: String(whole) }) };
}

/**
 * Only syntax and two functions of the browser's: reads values by their own properties, and those of prototypes, as far
 * as they are data, and hands them over as text. It answers whether the page is to stand still: where a value is no
 * primitive any more, so that the debugger reads it.
 */
const TELL = `function (prototypeOf, name, most, length) {
  const property = this, hand = globalThis[name];
  let left = most;
  hand.tell = (...reads) => {
    if (left-- <= 0) return false;
    let out = '';
    for (let r = 0; r < reads.length; r++) {
      let kind = 'x', text = '';
      try {
        const path = reads[r]();
        let v = path[0], k = 1;
        for (; k < path.length; k++) {
          if (v === null || (typeof v !== 'object' && typeof v !== 'function')) break;
          let o = v, d;
          while (o !== null && (d = property(o, path[k])) === undefined) o = prototypeOf(o);
          if (d === undefined) v = undefined;
          else if (property(d, 'value') === undefined) { kind = 'a'; break; }
          else v = d.value;
        }
        if (kind !== 'a') {
          const type = k < path.length ? 'undefined' : typeof v;
          if (v === null && k >= path.length) kind = 'l';
          else if (type === 'object' || type === 'function' || type === 'symbol') { left++; return true; }
          else if (type === 'undefined') { kind = 'u'; text = 'undefined'; }
          else if (type === 'string') { kind = 's'; text = v; }
          else if (type === 'bigint') { kind = 'g'; text = v + 'n'; }
          else if (type === 'boolean') { kind = 'b'; text = v + ''; }
          else { kind = 'n'; text = v === 0 && 1 / v < 0 ? '-0' : v + ''; }
          if (kind === 'l') text = 'null';
        }
      } catch {}
      let cut = text;
      if (text.length > length) { cut = ''; for (let i = 0; i < length; i++) cut += text[i]; }
      out += kind + cut.length + '/' + text.length + ':' + cut;
    }
    hand(out);
    return false;
  };
}`;
