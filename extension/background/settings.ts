/** Stored settings: the user's choices, the profile's name, and state for the next run of the worker. */
import type { Way } from '../capture/chosen';
import type { DebugMemory } from '../debugging/debugging';
import type { GapReason } from '../protocol';
import type { Choices } from './rules';

/** The part of a `chrome.storage` area that is used. */
export interface StorageArea {
  get(keys: string[]): Promise<Record<string, unknown>>;
  set(items: Record<string, unknown>): Promise<void>;
}

/** What the worker knows of a captured tab, for the life after it. */
export interface TabMemory {
  /** Whether the tab was captured. */
  captured: boolean;
  /** A gap that had no end yet. */
  gap?: OpenGap | undefined;
}

/** A gap that lasts until the tab is captured again. */
export interface OpenGap {
  reason: GapReason;
  from: number;
}

/** What an earlier life of the worker left behind. */
export interface Memory {
  /** When it was alive last, milliseconds since the epoch. */
  alive: number;
  tabs: Record<string, TabMemory>;
}

/** Keeps settings in memory and writes changes behind. */
export class Settings implements Choices {
  readonly origins: Record<string, boolean> = {};
  readonly tabsOff = new Set<number>();
  /** The capture mode of an origin, where the user has chosen one. */
  readonly ways: Record<string, Way> = {};
  /** Tabs in which the user has closed the debugging bar. */
  readonly tabsQuiet = new Set<number>();
  /** The default capture mode; undefined where the browser decides. */
  way: Way | undefined;
  /** The user has paused watching, until it is resumed or the browser exits. */
  paused = false;
  /** Names this browser profile for as long as the extension is installed. */
  instance = '';
  /** Names one life of the browser, in which tabs keep their ids. */
  session = '';
  /** What the life before this one left; undefined in the first one since the browser started. */
  before: Memory | undefined;
  /** What the life before this one debugged. */
  debuggedBefore: DebugMemory | undefined;
  readonly #local: StorageArea;
  readonly #session: StorageArea;

  constructor(local: StorageArea, session: StorageArea) {
    this.#local = local;
    this.#session = session;
  }

  async load(): Promise<void> {
    const [local, session] = await Promise.all([
      this.#local.get(['origins', 'ways', 'way', 'instance']),
      this.#session.get(['tabsOff', 'tabsQuiet', 'paused', 'memory', 'session', 'debugging']),
    ]);
    Object.assign(this.origins, local.origins);
    for (const tab of (session.tabsOff as number[] | undefined) ?? []) this.tabsOff.add(tab);
    for (const tab of (session.tabsQuiet as number[] | undefined) ?? []) this.tabsQuiet.add(tab);
    this.paused = session.paused === true;
    Object.assign(this.ways, local.ways);
    this.way = local.way as Way | undefined;
    this.before = session.memory as Memory | undefined;
    this.debuggedBefore = session.debugging as DebugMemory | undefined;
    this.session = (session.session as string | undefined) ?? '';
    if (this.session === '') {
      this.session = crypto.randomUUID();
      await this.#session.set({ session: this.session });
    }
    this.instance = (local.instance as string | undefined) ?? '';
    if (this.instance === '') {
      this.instance = crypto.randomUUID();
      await this.#local.set({ instance: this.instance });
    }
  }

  /** Remembers the user's choice for an origin. */
  async chooseOrigin(origin: string, on: boolean): Promise<void> {
    this.origins[origin] = on;
    await this.#local.set({ origins: this.origins });
  }

  /** Remembers the user's choice for one tab. */
  async chooseTab(tab: number, on: boolean): Promise<void> {
    if (on === !this.tabsOff.has(tab)) return;
    if (on) this.tabsOff.delete(tab);
    else this.tabsOff.add(tab);
    await this.#session.set({ tabsOff: [...this.tabsOff] });
  }

  /** Remembers how pages of an origin are to be captured, or all pages of which nothing else is said. */
  async chooseWay(way: Way, origin?: string): Promise<void> {
    if (origin === undefined) this.way = way;
    else this.ways[origin] = way;
    await this.#local.set(origin === undefined ? { way } : { ways: this.ways });
  }

  /** Remembers that the user closed the debugging bar of a tab; `false` forgets it. */
  async chooseQuiet(tab: number, quiet = true): Promise<void> {
    if (quiet === this.tabsQuiet.has(tab)) return;
    if (quiet) this.tabsQuiet.add(tab);
    else this.tabsQuiet.delete(tab);
    await this.#session.set({ tabsQuiet: [...this.tabsQuiet] });
  }

  /** Remembers whether watching is paused. */
  async choosePaused(paused: boolean): Promise<void> {
    this.paused = paused;
    await this.#session.set({ paused });
  }

  async remember(memory: Memory): Promise<void> {
    await this.#session.set({ memory });
  }

  async rememberDebugging(debugging: DebugMemory): Promise<void> {
    await this.#session.set({ debugging });
  }
}
