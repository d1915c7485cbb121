/**
 * Fetches source maps for the host, with no more than the rights of the page that loaded the script: its
 * cookies go to its own origin only, and a page of the wide web reaches nothing on this machine or its
 * network. The requests are the worker's own, so that neither the page nor its developer sees any of them.
 */
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  CodeNone,
  CodeTooLarge,
  CodeUnavailable,
  type SourceMapParams,
  type SourceMapResult,
} from '../protocol';
import { isDevelopment, watchableOrigin } from './rules';

/** What is needed of the worker. */
export interface SourceMapParties {
  /** The address of a watched tab's page; undefined for any other tab. */
  page(tab: number): Promise<string | undefined>;
  /** The latest loads of an address by a tab's documents. */
  documents(tab: number, url: string): Promise<ScriptLoad[]>;
  /** The latest responses with an address's script that a tab's documents and workers received. */
  responses(tab: number, url: string): ScriptLoad[];
  /** The lengths of the code that a debugged tab loaded from an address, in UTF-16 units; none of any other tab. */
  debugged(tab: number, url: string): number[];
  fetch: typeof fetch;
}

/** A load of a script: as a document's resource timing has it, or as its response said. */
export interface ScriptLoad {
  /** The start, in milliseconds since the epoch. */
  readonly at: number;
  /** The bytes of the body without its compression; 0 where they are not known. */
  readonly size: number;
  /** What the server named this version by. */
  readonly etag?: string | undefined;
  /** The length of the code in UTF-16 units, as a debugger has it. */
  readonly length?: number;
}

/** How long the documents of a tab may take to say what they loaded, in ms. A busy or paused page does not. */
const LOADS_MS = 500;
/** How exact the times of headers are, in ms. */
const HEADER_MS = 1000;

/** Answers `source_map`; rejects with a {@link CodedError} on failure. */
export async function sourceMap(parties: SourceMapParties, params: unknown): Promise<SourceMapResult> {
  const { tab, url, timeout_ms, max_bytes, evaluated, served } = read(params);
  const page = await parties.page(tab);
  if (page === undefined) throw new CodedError(CodeUnavailable, 'The tab is not watched.');
  if (served === true && !(isLocal(new URL(page).origin) && isLocal(new URL(url).origin)))
    throw new CodedError(CodeUnavailable, 'Only a development server is asked for what it has now.');
  if (withoutHash(url) === withoutHash(page))
    throw new CodedError(CodeNone, 'The address is the page itself. An inline script is its own source.');
  const signal = AbortSignal.timeout(timeout_ms);
  const get = (address: string): Promise<Response> => fetchAs(parties.fetch, page, address, signal);
  try {
    const loading = served === true ? undefined : loadsOf(parties, tab, url);
    const script = await get(url);
    const code = await bytes(script, max_bytes);
    const header = script.headers.get('SourceMap') ?? script.headers.get('X-SourceMap');
    const text = new TextDecoder().decode(code);
    const maps = evaluated === true ? evaluatedMaps(text) : undefined;
    const reference = maps === undefined ? (header ?? sourceMappingURL(text)) : url;
    if (reference === undefined || maps === '{}')
      throw new CodedError(CodeNone, 'The script names no source map.');
    const now = {
      size: code.byteLength,
      length: text.length,
      stamps: stampsOf(text),
      headers: script.headers,
    };
    const found = (await loading)?.map((load) => compared(load, now)) ?? ['same'];
    if (found.includes('other'))
      throw new CodedError(CodeUnavailable, 'The server has other code than the page runs.');
    if (!found.includes('same'))
      throw new CodedError(
        CodeUnavailable,
        'Nothing shows that the page runs the code that the server has now.',
      );
    if (maps !== undefined) return { url, data: await packed(new Response(maps), max_bytes) };
    const address = new URL(reference, url).href;
    const inline = address.startsWith('data:');
    let map = inline ? await parties.fetch(address, { signal }) : await get(address);
    if (served === true)
      map = new Response(ownSources(new TextDecoder().decode(await bytes(map, max_bytes))));
    return { url: inline ? url : address, data: await packed(map, max_bytes) };
  } catch (error) {
    if (error instanceof CodedError) throw error;
    throw new CodedError(CodeUnavailable, `Cannot fetch the source map: ${String(error)}`);
  }
}

/**
 * The latest loads of an address by a tab. The documents of a debugged one are not asked: the debugger knows more, and while a
 * script waits for its breakpoints they do not answer.
 */
async function loadsOf(parties: SourceMapParties, tab: number, url: string): Promise<ScriptLoad[]> {
  const debugged = parties.debugged(tab, url).map((length) => ({ at: Date.now(), size: 0, length }));
  const read = debugged.length > 0 ? [] : await parties.documents(tab, url);
  return [...read, ...parties.responses(tab, url), ...debugged];
}

function read(params: unknown): SourceMapParams {
  const { tab, url, timeout_ms, max_bytes, evaluated, served } = (params ?? {}) as Partial<
    Record<keyof SourceMapParams, unknown>
  >;
  if (
    typeof tab !== 'number' ||
    typeof url !== 'string' ||
    typeof timeout_ms !== 'number' ||
    typeof max_bytes !== 'number'
  )
    throw new CodedError(CodeInvalid, 'source_map requires tab, url, timeout_ms and max_bytes.');
  return { tab, url, timeout_ms, max_bytes, evaluated: evaluated === true, served: served === true };
}

function withoutHash(url: string): string {
  return url.replace(/#.*/s, '');
}

/** Fetches what a page could fetch. A redirect could lead where it may not, and is refused. */
async function fetchAs(
  get: typeof fetch,
  page: string,
  address: string,
  signal: AbortSignal,
): Promise<Response> {
  const origin = watchableOrigin(address);
  const own = watchableOrigin(page);
  if (origin === undefined || own === undefined || (isLocal(origin) && !isLocal(own)))
    throw new CodedError(CodeInvalid, 'The page may not fetch that address.');
  const response = await get(address, {
    signal,
    credentials: origin === own ? 'include' : 'omit',
    redirect: 'error',
    cache: 'no-cache',
    referrerPolicy: 'no-referrer',
  });
  if (!response.ok) throw new CodedError(CodeUnavailable, `The server answered ${response.status}.`);
  return response;
}

/** Whether an origin is on this machine or a private network (RFC 1918, RFC 3927, RFC 4193, RFC 6762). */
export function isLocal(origin: string): boolean {
  const url = new URL(origin);
  // With a dot at its end, a name is the same one: the resolver only adds no domain to it.
  url.hostname = url.hostname.replace(/\.$/, '');
  const { hostname } = url;
  return (
    isDevelopment(url.origin) ||
    !hostname.includes('.') ||
    /\.(local|internal|lan|home\.arpa)$/.test(hostname) ||
    /^(0|10|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(hostname)
  );
}

/**
 * What a script says of its map: in its last comment, behind which there is no code (or it belongs to code
 * in a string, which is evaluated and has a map of its own).
 * https://tc39.es/ecma426/#sec-linking-inline
 */
export function sourceMappingURL(script: string): string | undefined {
  const at = script.lastIndexOf('sourceMappingURL=');
  if (at < 4 || !/\/[/*][#@][ \t]$/.test(script.slice(at - 4, at))) return undefined;
  const [, url, rest = ''] = /^([^\s'"`*\\]*)(.*)$/s.exec(script.slice(at + 17)) ?? [];
  const behind = rest.replace(/^[ \t]*\*\//, '').split(/[\r\n]/);
  return url && behind.every((line) => /^\s*(?:\/\/|$)/.test(line)) ? url : undefined;
}

/**
 * The comments at the end of code that webpack's `eval-source-map` has as text: its map, and its name. Newer versions make the
 * code a block, which ends behind them.
 */
const EVALUATED =
  /\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,([\w+/=]+)\\n\/\/# sourceURL=(webpack-internal:\/\/\/[^"\\\r\n]+)(?:\\n)+\}?"/g;

/** Code as people write it, by the name of its module. */
const WRITTEN = /\.(?:[cm]?[jt]s|[jt]sx)$/;

/** What only loaders write into code: React Refresh's, and those that compile JSX. */
const REFRESHED = /\$Refresh(?:Reg|Sig)?\$|__webpack_require__/;
const COMPILED = /\b_jsx(?:s|DEV)?\(/;

/** A part of a source map. */
interface EvaluatedMap {
  mappings?: unknown;
  sourcesContent?: unknown;
}

/** Whether a map has lines alone, as those of webpack's `cheap` kinds. */
function isCheap({ mappings }: EvaluatedMap): boolean {
  return typeof mappings === 'string' && !mappings.includes(',');
}

/** Whether a map is of what loaders made of a file. */
function isOfLoaders(name: string, { sourcesContent }: EvaluatedMap): boolean {
  const content: unknown = Array.isArray(sourcesContent) ? sourcesContent[0] : undefined;
  if (typeof content !== 'string' || !WRITTEN.test(name)) return false;
  return REFRESHED.test(content) || (/x$/.test(name) && COMPILED.test(content));
}

/**
 * The maps in the code that a script has as text and evaluates, by the names of that code, as JSON. They are without the text of
 * the original files. Those of packages are left out, and so are damaged ones. webpack's `eval-cheap-source-map` maps to what
 * loaders made of the files: where one map shows that, those of the script with lines alone map nothing.
 */
export function evaluatedMaps(script: string): string {
  const maps = new Map<string, EvaluatedMap>();
  let ofLoaders = false;
  for (const [, encoded = '', name = ''] of script.matchAll(EVALUATED)) {
    if (name.includes('/node_modules/') || maps.has(name)) continue;
    try {
      const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
      const map: EvaluatedMap = JSON.parse(new TextDecoder().decode(bytes)) ?? {};
      ofLoaders ||= isCheap(map) && isOfLoaders(name, map);
      delete map.sourcesContent;
      maps.set(name, map);
    } catch {
      // It maps nothing.
    }
  }
  const none = { version: 3, sources: [], mappings: '' };
  return JSON.stringify(
    Object.fromEntries([...maps].map(([name, map]) => [name, ofLoaders && isCheap(map) ? none : map])),
  );
}

/** A map with the texts of its files that are no package's, and nothing else. */
function ownSources(text: string): string {
  const map = JSON.parse(text.replace(/^\)\]\}.*\n/, '')) as Record<string, unknown>;
  const names = Array.isArray(map.sources) ? map.sources : [];
  const contents = Array.isArray(map.sourcesContent) ? map.sourcesContent : [];
  const own = [...names.keys()].filter((i) => !`/${names[i]}`.includes('/node_modules/'));
  return JSON.stringify({
    version: map.version,
    sourceRoot: map.sourceRoot,
    sources: own.map((i) => names[i]),
    sourcesContent: own.map((i) => contents[i]),
    mappings: '',
  });
}

async function bytes(response: Response, max: number): Promise<ArrayBuffer> {
  return await new Response(bounded(response, max)).arrayBuffer();
}

/** The bytes of the stamp that Vite adds to the address of an imported module once that was edited. */
const STAMP = '?t=1795696137580'.length;

/** How many imports of a module may have got a stamp since it was loaded. Nothing else in it changes with that. */
function stampsOf(code: string): number {
  return code.match(/[?&]t=\d{13}(?=["'&])/g)?.length ?? 0;
}

/** The code that a server has now. */
interface Served {
  readonly size: number;
  readonly length: number;
  readonly stamps: number;
  readonly headers: Headers;
}

/**
 * Whether the code of a load is that which is served now. A watching bundler leaves other code to pages that do not reload:
 * of another size, under another `ETag`, or written after the load. A server that dates everything now says nothing by it.
 */
function compared({ at, size, etag, length }: ScriptLoad, served: Served): Comparison {
  const { stamps, headers } = served;
  const known = length ?? size;
  const more = ((length === undefined ? served.size : served.length) - known) / STAMP;
  if (known > 0 && !(Number.isInteger(more) && more >= 0 && more <= stamps)) return 'other';
  const clock = Date.parse(headers.get('Date') ?? '') || Date.now();
  const written = Date.parse(headers.get('Last-Modified') ?? '');
  const dated = written < clock;
  if (dated && clock - written + HEADER_MS < Date.now() - at) return 'other';
  const named = headers.get('ETag');
  const names = etag !== undefined && named !== null;
  if (names && version(etag) === version(named)) return 'same';
  if (names && stamps === 0) return 'other';
  return known > 0 || dated ? 'same' : 'unknown';
}

type Comparison = 'same' | 'other' | 'unknown';

/** An `ETag` without the mark of a weak one and without what a server adds for a compressed body. */
function version(etag: string): string {
  return etag.replace(/^W\//, '').replace(/[-;](?:gzip|br|zstd|deflate)(?="?$)/, '');
}

/** The most loads that are kept. */
const MAX_LOADS = 5000;

/** The part of webRequest's details of a response that is used. */
interface ScriptResponse {
  readonly tabId: number;
  readonly url: string;
  readonly type: string;
  readonly initiator?: string | undefined;
  readonly timeStamp: number;
  readonly statusCode: number;
  readonly responseHeaders?: readonly { name: string; value?: string | undefined }[] | undefined;
}

/**
 * The latest responses with scripts, by tab. They tell apart versions of what no document's resource timing has: scripts of
 * workers and of other origins, and those after the first 250 resources.
 */
export class ScriptResponses {
  readonly #watched: (tab: number, page: string | undefined) => boolean;
  readonly #loads = new Map<string, ScriptLoad>();

  /** `watched` says whether a page of that origin in that tab is watched. */
  constructor(watched: (tab: number, page: string | undefined) => boolean) {
    this.#watched = watched;
  }

  responded({
    tabId,
    url,
    type,
    timeStamp,
    statusCode,
    initiator,
    responseHeaders = [],
  }: ScriptResponse): void {
    if (type !== 'script' || (statusCode !== 200 && statusCode !== 304)) return;
    if (!this.#watched(tabId, initiator)) return;
    const header = (name: string): string | undefined =>
      responseHeaders.find((h) => h.name.toLowerCase() === name)?.value;
    const key = `${tabId} ${url}`;
    const before = statusCode === 304 ? this.#loads.get(key) : undefined; // the body is still that one
    const length = header('content-encoding') === undefined ? Number(header('content-length')) || 0 : 0;
    this.#loads.delete(key); // the order is that of the responses
    this.#loads.set(key, {
      at: timeStamp,
      size: before?.size ?? length,
      etag: header('etag') ?? before?.etag,
    });
    const [oldest] = this.#loads.keys();
    if (this.#loads.size > MAX_LOADS && oldest !== undefined) this.#loads.delete(oldest);
  }

  /** The load of an address by a tab; that of a shared worker belongs to none. */
  of(tab: number, url: string): ScriptLoad[] {
    return [tab, -1].flatMap((of) => this.#loads.get(`${of} ${url}`) ?? []);
  }
}

/** Reads the loads of an address from the documents of a tab that the extension may reach. */
export async function documentLoads(tab: number, url: string): Promise<ScriptLoad[]> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, LOADS_MS, undefined));
  const read = chrome.scripting.executeScript({
    target: { tabId: tab, allFrames: true },
    injectImmediately: true,
    func: (of: string) => {
      const last = performance.getEntriesByName(of, 'resource').at(-1) as
        | PerformanceResourceTiming
        | undefined;
      return last && { at: performance.timeOrigin + last.startTime, size: last.decodedBodySize };
    },
    args: [url],
  });
  const answers = await Promise.race([read.catch(() => undefined), late]);
  return (answers ?? []).flatMap(({ result }) => result ?? []);
}

/** A body as gzip in base 64: a fifth of a map's size, and nothing that JSON would have to escape. */
async function packed(response: Response, max: number): Promise<string> {
  const stream = bounded(response, max).pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(binary);
}

/** A body that breaks off where it becomes too large. */
function bounded(response: Response, max: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let size = 0;
  const body = response.body ?? new Blob([]).stream();
  return body.pipeThrough(
    new TransformStream({
      transform(chunk: Uint8Array<ArrayBuffer>, controller) {
        size += chunk.byteLength;
        if (size <= max) controller.enqueue(chunk);
        else controller.error(new CodedError(CodeTooLarge, `The response is larger than ${max} bytes.`));
      },
    }),
  );
}
