/**
 * Activity in tabs that an action may have caused: unfinished requests, navigations, and changes since the last
 * snapshot.
 */
import type { ActResult, AnyEvent } from '../../protocol';
import { Storms } from './storms';

interface Flight {
  readonly at: number;
  /** The endpoint: what is in a storm has the same. */
  readonly what: string;
  /** The same with the query of its address. */
  readonly full: string;
  /** When its response started. */
  answered?: number;
}

interface TabActivity {
  readonly flights: Map<string, Flight>;
  /** Requests that the page makes without end: they are not waited for. */
  readonly storms: Storms;
  /** Counts the requests that ended, except for those of storms. */
  ended: number;
  /** Whether another document is requested or loading. */
  loading: boolean;
  /** How many loads have begun. */
  loads: number;
  /** Counts the documents that were committed, and everything else that changes the address. */
  documents: number;
  navigations: number;
  /** When only the address changed last, in ms since the epoch; 0 when it never did. */
  moved: number;
  /** The document that was requested last, and when, in ms since the epoch. */
  requested?: { readonly path: string; readonly at: number };
  /** Why the last navigation failed. */
  failure: string;
  /** Whether the page is unchanged since the last snapshot. */
  seen: boolean;
  /** The tabs that the page opened and the files that it downloaded since the last report. */
  made: Made[];
}

/** A tab or a file that a page made, and when, in ms since the epoch. */
interface Made {
  readonly at: number;
  readonly tab?: number;
  readonly file?: string;
}

/** Requests older than this are streams or long polls, which end when they like; in ms. */
const SLOW_MS = 2000;
/** A body that does not end within this is a long one, or the page does not read it; in ms. */
const BODY_MS = 200;
/** The most requests that are kept of a tab; more at once are waited for no longer. */
const MAX_FLIGHTS = 500;

/** The most opened tabs and downloads kept for a tab until they are reported. */
const MAX_MADE = 20;

export class Activity {
  readonly #tabs = new Map<number, TabActivity>();
  readonly #waiting = new Map<number, Set<() => void>>();

  #of(tab: number): TabActivity {
    let state = this.#tabs.get(tab);
    if (state === undefined) {
      state = {
        flights: new Map(),
        storms: new Storms(),
        ended: 0,
        loading: false,
        loads: 0,
        documents: 0,
        navigations: 0,
        moved: 0,
        failure: '',
        seen: false,
        made: [],
      };
      this.#tabs.set(tab, state);
    }
    return state;
  }

  /** Takes an event on its way to the host. */
  saw(event: AnyEvent): void {
    if (event.kind === 'request') {
      const state = this.#of(event.tab);
      const { flights } = state;
      if (event.resource === 'document') state.requested = { path: pathOf(event.url), at: event.at };
      if (flights.size >= MAX_FLIGHTS) flights.clear();
      flights.set(event.id, { at: Date.now(), what: nameOf(event), full: nameOf(event, queryOf(event.url)) });
    } else if (event.kind === 'network') {
      const state = this.#tabs.get(event.tab);
      const what = state?.flights.get(event.id)?.what ?? nameOf(event);
      if (state?.flights.delete(event.id) && !state.storms.goesOn(what, Date.now())) state.ended++;
      state?.storms.saw(event, what);
      this.changed(event.tab);
    }
  }

  /** The answer to a request begins to come. */
  answered(tab: number, id: string): void {
    const flight = this.#tabs.get(tab)?.flights.get(id);
    if (flight !== undefined) flight.answered ??= Date.now();
  }

  /** What a page opened and loaded down since this was asked last: since an action began, and late, before it. */
  made(tab: number, since: number): Pick<ActResult, 'opened' | 'downloads' | 'late'> {
    const { made } = this.#of(tab);
    this.#of(tab).made = [];
    const of = (list: Made[]): Pick<ActResult, 'opened' | 'downloads'> => {
      const opened = list.flatMap(({ tab = [] }) => tab);
      const downloads = list.flatMap(({ file = [] }) => file);
      return { ...(opened.length > 0 && { opened }), ...(downloads.length > 0 && { downloads }) };
    };
    const late = of(made.filter(({ at }) => at < since));
    return {
      ...of(made.filter(({ at }) => at >= since)),
      ...(Object.keys(late).length > 0 && { late }),
    };
  }

  /** A tab was opened by another one's page. */
  opens(by: number | undefined, tab: number): void {
    if (by !== undefined) this.#make(by, { at: Date.now(), tab });
  }

  /** A page has the browser download a file: since its request began, where it took the place of a document. */
  downloads(tab: number, file: string, url: string): void {
    const { requested } = this.#of(tab);
    const at = requested?.path === pathOf(url) ? requested.at : Date.now();
    this.#make(tab, { at, file });
    this.changed(tab);
  }

  #make(tab: number, made: Made): void {
    const state = this.#of(tab);
    state.made = [...state.made, made].slice(-MAX_MADE);
  }

  /** A navigation of the top frame begins, commits, ends, with an error or without; or only the address changes. */
  navigates(tab: number, step: 'begins' | 'commits' | 'ends' | 'moves', error = ''): void {
    const state = this.#of(tab);
    state.navigations++;
    state.seen = false;
    if (step === 'moves') {
      state.moved = Date.now();
      this.changed(tab);
      return;
    }
    state.loading = step !== 'ends';
    if (state.loading) state.loads++;
    if (step === 'begins' || error !== '') state.failure = error;
    if (step === 'commits') {
      state.documents++;
      state.flights.clear();
      state.storms.clear();
    }
    this.changed(tab);
  }

  /** The document of a tab is parsed. Its resources that take long are then like any slow request: the page is usable. */
  parsed(tab: number): void {
    const state = this.#of(tab);
    const { loads } = state;
    setTimeout(() => {
      if (!state.loading || state.loads !== loads) return;
      state.loading = false;
      this.changed(tab);
    }, SLOW_MS);
  }

  /** The page is being looked at: what changes from now on makes that stale. */
  looks(tab: number): void {
    this.#of(tab).seen = true;
  }

  stale(tab: number): void {
    this.#of(tab).seen = false;
  }

  /** Whether the page is unchanged since the last snapshot; false also if unknown. */
  seen(tab: number): boolean {
    return this.#of(tab).seen;
  }

  loading(tab: number): boolean {
    return this.#tabs.get(tab)?.loading === true;
  }

  /** Why the last navigation came to nothing, "" when it did not. */
  failure(tab: number): string {
    return this.#of(tab).failure;
  }

  navigations(tab: number): number {
    return this.#of(tab).navigations;
  }

  /** Whether the page went to another address within its document since a time. */
  moved(tab: number, since: number): boolean {
    const { moved } = this.#of(tab);
    return moved > 0 && moved >= since;
  }

  documents(tab: number): number {
    return this.#of(tab).documents;
  }

  /** How many requests of the tab have ended so far, except for those of storms. */
  ended(tab: number): number {
    return this.#of(tab).ended;
  }

  /** Requests of the tab that began at a time or after it, and may end any moment. */
  flights(tab: number, since: number): string[] {
    const now = Date.now();
    return this.#begunSince(tab, since)
      .filter(({ at, answered = now }) => now - at < SLOW_MS && now - answered < BODY_MS)
      .map(({ what }) => what);
  }

  /** All requests of the tab that began since a time and have not ended, however old. */
  unended(tab: number, since: number): string[] {
    return this.#begunSince(tab, since).map(({ full, answered }) =>
      answered === undefined ? full : `${full} (answered, body not read)`,
    );
  }

  /** Requests of the tab that began since a time and have not ended, but for those of storms. */
  #begunSince(tab: number, since: number): Flight[] {
    const { flights, storms } = this.#of(tab);
    const now = Date.now();
    return [...flights.values()].filter(({ at, what }) => at >= since && !storms.goesOn(what, now));
  }

  /** Something in a tab has changed: wakes all waits for it. */
  changed(tab: number): void {
    const waiting = this.#waiting.get(tab);
    this.#waiting.delete(tab);
    for (const wake of waiting ?? []) wake();
  }

  /** Resolves at the next change of the tab, or after some ms: then with false. */
  change(tab: number, ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(tab) ?? new Set();
      this.#waiting.set(tab, waiting);
      const wake = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        waiting.delete(wake);
        resolve(false);
      }, ms);
      waiting.add(wake);
    });
  }

  closed(tab: number): void {
    this.#tabs.delete(tab);
    this.changed(tab);
  }
}

/** What a request is called, with its GraphQL operation. */
const nameOf = (
  { method, url, operation = '' }: { method: string; url: string; operation?: string },
  query = '',
): string => `${method} ${pathOf(url)}${query} ${operation}`.trimEnd();

/** The most characters of a query in the name of a request that has not ended. */
const MAX_QUERY = 60;

/** The query of an address, with its question mark. */
function queryOf(url: string): string {
  const query = URL.canParse(url) ? new URL(url).search : '';
  return query.length > MAX_QUERY ? `${query.slice(0, MAX_QUERY - 1)}…` : query;
}

function pathOf(url: string): string {
  try {
    return new URL(url).pathname;
  } catch {
    return url;
  }
}
