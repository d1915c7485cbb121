/**
 * Captures tabs without a debugger, so that the browser shows no bar: by hooks in the page's own world,
 * by `webRequest` and by `webNavigation`. It cannot observe the consoles and WebSockets of workers, and reports
 * a gap on pages that have them.
 */
import type { PageRecord, SocketRecord } from '../../page/records';
import { type AnyEvent, type GapReason, MaxFrame } from '../../protocol';
import { redactCut, redactURL } from '../../redact/redact';
import { pageEntry, pageThrown, unusableEntry } from '../console/console';
import { readRecords } from '../page-records';
import type { CaptureSource, Emit, Started, StartOptions, Target, Where } from '../source';
import { causeLines, parseStack } from '../stack';
import { byteLength, cutBytes } from '../text';
import { type QuietDetails, QuietRequests } from './network';

/** How often it is looked whether both witnesses of all requests have spoken, in ms. */
const WITNESS_MS = 25;

/** What quiet capture needs of its surroundings. */
export interface QuietOptions {
  emit: Emit;
  /** Whether a page of that address in that tab is to be captured quietly. */
  wanted(tab: number, url: string): boolean;
  /** Flushes the page's hooks; resolves when they have answered or timed out. */
  flush(tab: number): Promise<unknown>;
}

interface Socket {
  readonly url: string;
  /** The code that opened it. */
  readonly stack: string;
  open: boolean;
}

interface QuietTab {
  readonly requests: QuietRequests;
  /** Open WebSockets, by frame and by the hooks' number. */
  readonly sockets: Map<number, Map<number, Socket>>;
  /** Gaps of the page that is shown, which end with it. */
  readonly blind: Map<GapReason, number>;
  url: string;
  /** The browser's id of the document that is shown, if it is known. */
  document: string | undefined;
  running: boolean;
}

/** The part of `chrome.webNavigation`'s details that is used. */
export interface Committed {
  tabId: number;
  frameId: number;
  documentId?: string | undefined;
  url: string;
  transitionType?: string | undefined;
}

/** Quiet capture of all tabs that are captured so. */
export class QuietSource implements CaptureSource {
  readonly name = 'quiet';
  readonly #options: QuietOptions;
  readonly #tabs = new Map<number, QuietTab>();

  constructor(options: QuietOptions) {
    this.#options = options;
  }

  start(tab: number, _options: StartOptions): Promise<Started> {
    this.#tab(tab).running = true;
    return Promise.resolve({});
  }

  stop(tab: number): Promise<void> {
    const state = this.#tabs.get(tab);
    if (state === undefined) return Promise.resolve();
    this.#left(tab, state);
    // The browser may commit an unwatched page after the request for the next, watched document has begun.
    state.running = false;
    state.url = '';
    if (!state.requests.stop((url) => this.#options.wanted(tab, url))) this.#tabs.delete(tab);
    return Promise.resolve();
  }

  runs(tab: number): boolean {
    return this.#tabs.get(tab)?.running === true;
  }

  async barrier(tab: number): Promise<void> {
    const state = this.#tabs.get(tab);
    if (state === undefined) return;
    await this.#options.flush(tab);
    while (state.requests.waiting) {
      await new Promise((resolve) => setTimeout(resolve, WITNESS_MS));
      await this.#options.flush(tab);
    }
  }

  #tab(tab: number): QuietTab {
    let state = this.#tabs.get(tab);
    if (state === undefined) {
      state = {
        requests: new QuietRequests(tab, this.#options.emit),
        sockets: new Map(),
        blind: new Map(),
        url: '',
        document: undefined,
        running: false,
      };
      this.#tabs.set(tab, state);
    }
    return state;
  }

  /** A request begins. It counts when the page that makes it is captured quietly, or is about to be. */
  began(details: QuietDetails): void {
    const { tabId: tab, type, url, initiator } = details;
    if (tab < 0) return;
    const of = type === 'main_frame' ? url : this.#tabs.get(tab)?.url || initiator || '';
    if (!this.#options.wanted(tab, of)) return;
    this.#tab(tab).requests.began(details);
  }

  /** Has a tab's requests take a step that is not their beginning. */
  step(step: 'sends' | 'responded' | 'redirected' | 'ended', details: QuietDetails): void {
    const state = this.#tabs.get(details.tabId);
    // An end alone says that the request began before capture: it counts when capture runs.
    if (state?.running || state?.requests.has(details.requestId)) state.requests[step](details);
  }

  /** Another document is shown. */
  committed({ tabId: tab, frameId, documentId, url, transitionType }: Committed): void {
    const state = this.#tabs.get(tab);
    if (frameId !== 0 || state === undefined) return;
    this.#left(tab, state);
    state.url = url;
    state.document = documentId;
    if (!state.running && !this.#options.wanted(tab, url)) return;
    this.#navigated(tab, transitionType === 'reload' ? 'reload' : 'load', url);
  }

  /** The document has another address now. */
  moved(how: 'history' | 'hash', { tabId: tab, frameId, url }: Committed): void {
    const state = this.#tabs.get(tab);
    if (frameId !== 0 || state === undefined || !state.running || state.url === url) return;
    state.url = url;
    this.#navigated(tab, how, url);
  }

  #navigated(tab: number, how: 'load' | 'reload' | 'history' | 'hash', raw: string): void {
    const watched = this.#options.wanted(tab, raw);
    const url = redactURL(watched ? raw : originOf(raw));
    this.#options.emit({
      kind: 'navigation',
      at: Date.now(),
      tab,
      ...(url.masked > 0 && { masked: url.masked }),
      how,
      url: url.text,
    });
  }

  /** What ended with a page: its sockets, and what could not be seen of it. */
  #left(tab: number, state: QuietTab): void {
    for (const frame of [...state.sockets.keys()]) this.frameGone(tab, frame);
    for (const [reason, from] of state.blind) this.#gap(tab, reason, from, Date.now());
    state.blind.clear();
  }

  /** The document of a frame was removed, with its sockets. */
  frameGone(tab: number, frame: number): void {
    const sockets = this.#tabs.get(tab)?.sockets;
    for (const [id, { url, open, stack }] of sockets?.get(frame) ?? []) {
      const close: SocketRecord = ['socket', Date.now(), id, url, 'close', '', 0, false, 0, stack];
      if (open) this.#socket(tab, frame, close, true);
    }
    sockets?.delete(frame);
  }

  /** A document was there before its hooks: what it did until now was not seen. */
  late(tab: number, from: number): void {
    this.#gap(tab, 'late_attach', Math.floor(from), Date.now());
  }

  #gap(tab: number, reason: GapReason, from: number, to: number): void {
    this.#options.emit({ kind: 'gap', at: Date.now(), tab, from, to, reason });
  }

  /** Records of the hooks in a document of a frame. */
  page(tab: number, frame: number, document: string, lists: readonly string[], dropped = 0): void {
    const state = this.#tabs.get(tab);
    if (state === undefined) return;
    if (dropped > 0) {
      const at = Date.now();
      this.#options.emit({ kind: 'gap', at, tab, from: at, to: at, reason: 'dropped', dropped });
    }
    // The records of a document that was left may come after the next one is shown.
    const left = frame === 0 && state.document !== undefined && state.document !== document;
    readRecords(lists, (record) => this.#record(frame, state, record, { tab, left }));
  }

  #record(frame: number, state: QuietTab, record: PageRecord, { tab, left }: Where): void {
    const target: Target | undefined = frame > 0 ? 'iframe' : undefined;
    switch (record[0]) {
      case 'log':
      case 'note':
        this.#options.emit(pageEntry(record, { tab, target, left }));
        return;
      case 'thrown':
        this.#options.emit(pageThrown(record, { tab, target: record[9] ? 'worker' : target, left }));
        return;
      case 'resource': {
        const note = (mime: string, named: boolean): void =>
          this.#options.emit(unusableEntry(record, mime, { tab, target, left }, named));
        state.requests.failed(record, note);
        return;
      }
      case 'answer':
        state.requests.answered(record);
        return;
      case 'socket':
        this.#socket(tab, frame, record, false);
        return;
      case 'blind': {
        const reason: GapReason = record[2] === 'worker' ? 'worker_unseen' : 'service_worker_unseen';
        if (state.blind.has(reason)) return;
        state.blind.set(reason, record[1]);
        this.#gap(tab, reason, record[1], 0);
      }
    }
  }

  #socket(tab: number, frame: number, record: SocketRecord, leaving: boolean): void {
    const [, at, id, raw, op, payload, bytes, binary, code, stack = ''] = record;
    const state = this.#tabs.get(tab);
    if (state === undefined) return;
    let sockets = state.sockets.get(frame);
    if (sockets === undefined) {
      sockets = new Map();
      state.sockets.set(frame, sockets);
    }
    let socket = sockets.get(id);
    if (socket === undefined) {
      socket = { url: raw, stack, open: false };
      sockets.set(id, socket);
    }
    if (op === 'open') socket.open = true;
    if (op === 'close' || (op === 'error' && !socket.open)) sockets.delete(id);
    const url = redactURL(raw);
    const clean = redactCut(
      op === 'error'
        ? socket.open
          ? 'the connection broke'
          : 'the connection could not be established'
        : payload,
    );
    const masked = url.masked + clean.masked;
    const isFrame = op === 'sent' || op === 'received';
    const event: Extract<AnyEvent, { kind: 'websocket' }> = {
      kind: 'websocket',
      at: Math.floor(at),
      tab,
      ...(masked > 0 && { masked }),
      id: `page-${frame}-${id}`,
      url: url.text,
      op,
    };
    if (isFrame) {
      event.size = bytes > 0 || binary ? bytes : byteLength(payload);
      if (binary) event.binary = true;
      else event.text = cutBytes(clean.text, MaxFrame);
    } else if (op === 'error') {
      event.text = clean.text;
    } else if (op === 'close') {
      if (code > 0) event.code = code;
      if (clean.text !== '') event.reason = cutBytes(clean.text, MaxFrame);
      if (leaving) event.leaving = true;
    }
    if (!isFrame) {
      const lines = causeLines(parseStack(stack));
      if (lines.length > 0) event.stack = lines;
    }
    this.#options.emit(event);
  }
}

function originOf(url: string): string {
  try {
    const { origin } = new URL(url);
    return origin === 'null' ? 'about:blank' : `${origin}/`;
  } catch {
    return 'about:blank';
  }
}
