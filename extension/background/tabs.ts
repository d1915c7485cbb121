/** Which tabs are captured: starts and stops capture as tabs open, navigate and close, and as the user chooses. */
import type { CaptureSource, EndReason } from '../capture/source';
import type { AnyEvent, GapReason } from '../protocol';
import { t } from '../text';
import { isWatched, watchableOrigin } from './rules';
import type { Memory, OpenGap, Settings, TabMemory } from './settings';

/** What the controller needs of its surroundings. */
export interface TabsOptions {
  readonly settings: Settings;
  readonly source: CaptureSource;
  emit(event: AnyEvent): void;
  /** The address that the tab shows; undefined if the tab does not exist. */
  address(tab: number): Promise<string | undefined>;
  /** Called when a tab's being watched, or its note, has changed. */
  changed(tab: number): void;
}

interface TabState {
  /** Whether the tab is to be captured now. */
  wanted: boolean;
  capture: 'off' | 'starting' | 'on';
  /** Counts the starts. What an earlier one brings is of no interest any more. */
  starts: number;
  gap?: OpenGap | undefined;
  note?: string | undefined;
  /** True for a blank tab from {@link WatchedTabs.expect} until it shows another page. */
  expected?: boolean | undefined;
  /** Entries older than this are not to be reported when capture begins. */
  replayFrom: number;
}

/** The address of an empty page. */
const BLANK = 'about:blank';

/** How long a tab that lost its debugger may take to be gone itself, in ms. */
const CLOSING_MS = 100;

/** Drives one capture source. Every method may be called at any time and as often as one likes. */
export class WatchedTabs {
  readonly #options: TabsOptions;
  readonly #tabs = new Map<number, TabState>();

  constructor(options: TabsOptions) {
    this.#options = options;
  }

  /**
   * Takes over what an earlier life of the worker left: what happened since it was alive last was not
   * seen. Its gaps end when their tabs are captured again, like those of this life.
   */
  resume(before: Memory | undefined): void {
    if (before === undefined) return;
    for (const [id, { captured, gap }] of Object.entries(before.tabs)) {
      const state = this.#state(Number(id));
      state.gap = gap;
      if (!captured) continue;
      state.replayFrom = before.alive;
      this.#openGap(Number(id), 'worker_restart', before.alive);
    }
  }

  /** What a later life of the worker has to know. */
  memory(now: number): Memory {
    const tabs: Record<string, TabMemory> = {};
    for (const [id, { capture, gap }] of this.#tabs) {
      if (capture !== 'off' || gap !== undefined) tabs[id] = { captured: capture !== 'off', gap };
    }
    return { alive: now, tabs };
  }

  #state(tab: number): TabState {
    let state = this.#tabs.get(tab);
    if (state === undefined) {
      state = { wanted: false, capture: 'off', starts: 0, replayFrom: 0 };
      this.#tabs.set(tab, state);
    }
    return state;
  }

  /** Whether what happens in the tab is to be reported. */
  watched(tab: number): boolean {
    return this.#tabs.get(tab)?.wanted === true;
  }

  /** Whether capture of the tab runs or is about to. */
  capturing(tab: number): boolean {
    const capture = this.#tabs.get(tab)?.capture;
    return capture === 'on' || capture === 'starting';
  }

  /** Why a tab is not captured, in words. */
  note(tab: number): string | undefined {
    return this.#tabs.get(tab)?.note;
  }

  /** The tabs that are watched. */
  all(): number[] {
    return [...this.#tabs].filter(([, { wanted }]) => wanted).map(([tab]) => tab);
  }

  /** A tab is on its way to an address: capture begins before the first request, when it can. */
  async heading(tab: number, url: string): Promise<void> {
    if (isWatched(tab, url, this.#options.settings)) await this.#start(tab, url);
  }

  /** A blank tab will be sent to an address. Capture runs when this resolves, so that the whole load is captured. */
  async expect(tab: number, url: string): Promise<void> {
    if (!isWatched(tab, url, this.#options.settings)) return;
    this.#state(tab).expected = true;
    await this.#start(tab, url);
  }

  /** A tab shows an address now. */
  async shows(tab: number, url: string): Promise<void> {
    const { settings } = this.#options;
    const state = this.#tabs.get(tab);
    if (state?.expected === true) {
      if (url === BLANK) return; // reported late
      state.expected = false;
    }
    if (isWatched(tab, url, settings)) {
      await this.#start(tab, url);
      return;
    }
    if (settings.paused && isWatched(tab, url, { origins: settings.origins, tabsOff: settings.tabsOff })) {
      this.#openGap(tab, 'paused');
      await this.#stop(tab, Number.POSITIVE_INFINITY, t('notePaused'));
      return;
    }
    const origin = watchableOrigin(url);
    if (settings.tabsOff.has(tab) || (origin !== undefined && settings.origins[origin] === false)) {
      if (this.capturing(tab)) this.#openGap(tab, 'detached');
      await this.#stop(tab, Number.POSITIVE_INFINITY, t('noteOff'));
    } else {
      await this.#stop(tab, 0);
      this.#closeGap(tab); // what happens there is not looked for
    }
  }

  closed(tab: number): void {
    if (!this.#tabs.has(tab)) return;
    void this.#stop(tab, 0);
    this.#closeGap(tab);
    this.#tabs.delete(tab);
  }

  /** Another tab takes the place of one, as when a page that was loaded beforehand is shown. */
  async replaced(tab: number, by: number): Promise<void> {
    this.closed(tab);
    await this.refresh(by);
  }

  /** Looks at a tab again: a choice has changed. */
  async refresh(tab: number): Promise<void> {
    const url = await this.#options.address(tab);
    if (url !== undefined) await this.shows(tab, url);
  }

  /** The user turns a tab on or off. Set an origin's switch first. */
  async choose(tab: number, on: boolean): Promise<void> {
    await this.#options.settings.chooseTab(tab, on);
    await this.refresh(tab);
  }

  /** Restarts capture of a tab in its new mode. The time in between is a gap. */
  async restart(tab: number): Promise<void> {
    const state = this.#tabs.get(tab);
    if (state === undefined || state.capture === 'off') return;
    const from = Date.now();
    await this.#stop(tab, from);
    this.#openGap(tab, 'detached', from);
    await this.refresh(tab);
  }

  /** Capture of a tab ended unexpectedly. */
  async ended(tab: number, reason: EndReason): Promise<void> {
    const state = this.#tabs.get(tab);
    if (state === undefined) return;
    state.capture = 'off';
    const from = Date.now();
    if (reason === 'canceled_by_user') {
      await this.#options.settings.chooseQuiet(tab);
      state.note = t('noteCanceled');
    } else {
      await new Promise((resolve) => setTimeout(resolve, CLOSING_MS));
    }
    const url = await this.#options.address(tab);
    if (url === undefined || this.#tabs.get(tab) !== state || this.capturing(tab)) return;
    if (isWatched(tab, url, this.#options.settings)) {
      state.replayFrom = from;
      this.#openGap(tab, 'detached', from);
    }
    await this.shows(tab, url);
  }

  async #start(tab: number, url: string): Promise<void> {
    const state = this.#state(tab);
    const wanted = state.wanted;
    state.wanted = true;
    if (state.capture !== 'off') return;
    state.capture = 'starting';
    const start = ++state.starts;
    if (state.note !== t('noteCanceled')) state.note = undefined;
    this.#options.changed(tab);
    // What happened while the user had turned it off stays private.
    if (!Number.isFinite(state.replayFrom)) state.replayFrom = Date.now();
    const { replayFrom } = state;
    try {
      const { missed } = await this.#options.source.start(tab, {
        replayFrom,
        url,
        shown: () => this.#options.address(tab),
        allowed: (url) => isWatched(tab, url, this.#options.settings),
      });
      if (this.#tabs.get(tab) !== state || !state.wanted) {
        await this.#options.source.stop(tab);
        return;
      }
      if (state.starts !== start) return; // it was restarted meanwhile
      state.capture = 'on';
      this.#closeGap(tab);
      if (missed !== undefined) this.#gap(tab, 'late_attach', missed.from, missed.to);
    } catch (error) {
      if (this.#tabs.get(tab) !== state || !state.wanted || state.starts !== start) return;
      this.#failed(tab, state, error, wanted);
    }
    this.#options.changed(tab);
  }

  /** Capture could not start. It is retried when the tab shows another document. */
  #failed(tab: number, state: TabState, error: unknown, wanted: boolean): void {
    state.capture = 'off';
    const message = error instanceof Error ? error.message : String(error);
    // The browser's own pages cannot be captured; the page that follows one is tried when it is there.
    if (/Cannot access|No tab with/.test(message)) {
      state.wanted = wanted;
      return;
    }
    state.note = t('noteFailed', message);
    this.#openGap(tab, 'capture_failed');
  }

  /** Stops capture. Events before `replayFrom` are not reported when it restarts. */
  async #stop(tab: number, replayFrom: number, note?: string): Promise<void> {
    if (note === undefined && !this.#tabs.has(tab)) return;
    const state = this.#state(tab);
    const changed = state.wanted || state.note !== note;
    const ran = state.capture !== 'off';
    state.wanted = false;
    state.capture = 'off';
    state.note = note;
    if (ran || replayFrom > 0) state.replayFrom = replayFrom;
    if (ran) await this.#options.source.stop(tab);
    if (changed) this.#options.changed(tab);
  }

  #openGap(tab: number, reason: GapReason, from = Date.now()): void {
    const state = this.#state(tab);
    if (state.gap !== undefined) return;
    state.gap = { reason, from };
    this.#gap(tab, reason, from, 0);
  }

  #closeGap(tab: number): void {
    const state = this.#tabs.get(tab);
    if (state?.gap === undefined) return;
    this.#gap(tab, state.gap.reason, state.gap.from, Date.now());
    state.gap = undefined;
  }

  #gap(tab: number, reason: GapReason, from: number, to: number): void {
    this.#options.emit({ kind: 'gap', at: Date.now(), tab, from, to, reason });
  }
}
