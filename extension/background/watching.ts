/** What users choose of watching, carried out: which tabs are watched, in which way, and with which scripts. */
import type { Way } from '../capture/chosen';
import { t } from '../text';
import type { ContentFrames } from './frames';
import { type HookedPages, injectHooks, injectWhereMissing, registerHooks, registerOrigin } from './inject';
import { isDevelopment, isWatched, watchableOrigin, wayFor } from './rules';
import type { Settings } from './settings';
import type { WatchedTabs } from './tabs';

/** How long a document's hooks may take to connect, in ms. */
const HOOKS_MS = 300;

/** What watching needs of its surroundings. */
export interface WatchingOptions {
  readonly browser: Pick<typeof chrome, 'tabs' | 'runtime'>;
  readonly settings: Settings;
  /** Resolves when the settings are loaded. */
  readonly ready: Promise<void>;
  readonly tabs: Pick<WatchedTabs, 'watched' | 'choose' | 'refresh' | 'restart'>;
  readonly frames: ContentFrames;
  /** The way in which a tab is captured now. */
  way(tab: number): Way | undefined;
  /** The way that suits this browser where a user has chosen none. */
  readonly suits: Way;
  /** Watching was paused or resumed. */
  paused(): void;
}

/** Carries out the choices of users. */
export class Watching {
  readonly #options: WatchingOptions;

  constructor(options: WatchingOptions) {
    this.#options = options;
  }

  /** Whether a tab is watched while it shows an address, and in that way. */
  wanted(tab: number, url: string | undefined, each: Way): boolean {
    return isWatched(tab, url, this.#options.settings) && this.wayFor(tab, url) === each;
  }

  /** The way in which a tab is to be captured. */
  wayFor(tab: number, url: string | undefined): Way {
    return wayFor(tab, url, this.#options.settings, this.#options.suits);
  }

  /** The address that a tab shows; undefined if the tab does not exist. */
  async address(tab: number): Promise<string | undefined> {
    try {
      return (await this.#options.browser.tabs.get(tab)).url;
    } catch {
      return undefined;
    }
  }

  /** Brings the scripts to a tab whose being watched has changed. */
  bringScripts(tab: number): void {
    const { frames, tabs } = this.#options;
    if (!tabs.watched(tab)) return;
    injectWhereMissing(tab, frames, () => tabs.watched(tab));
    setTimeout(() => void this.#hookWhereMissing(tab), HOOKS_MS);
  }

  /** Brings the hooks, or the witness, to documents that were there before them. */
  async #hookWhereMissing(tab: number): Promise<void> {
    const chosen = this.#options.way(tab);
    if (chosen === undefined) return;
    await injectHooks(chosen, tab, this.#options.frames.unhooked(tab, chosen));
  }

  /** Has the pages of each way of capture have its script from their first line on. */
  async registerPages(): Promise<void> {
    for (const each of ['quiet', 'debugger'] as const) await registerHooks(each, this.#pagesOf(each));
  }

  /** The pages that are captured in a way, as far as that is known before they are opened. */
  #pagesOf(each: Way): HookedPages {
    const { settings, suits } = this.#options;
    const matches = new Set((settings.way ?? suits) === each ? this.#developmentPatterns() : []);
    const excludeMatches = new Set<string>();
    for (const [origin, on] of Object.entries(settings.origins)) {
      if (on && (settings.ways[origin] ?? settings.way ?? suits) === each) matches.add(`${origin}/*`);
    }
    for (const [origin, chosen] of Object.entries(settings.ways)) {
      if (chosen !== each) excludeMatches.add(`${origin}/*`);
      else if (isDevelopment(origin) || settings.origins[origin] === true) matches.add(`${origin}/*`);
    }
    return { matches: [...matches], excludeMatches: [...excludeMatches] };
  }

  /** The patterns of the manifest's own content script. */
  #developmentPatterns(): string[] {
    const { content_scripts } = this.#options.browser.runtime.getManifest();
    return content_scripts?.flatMap(({ matches }) => matches ?? []) ?? [];
  }

  /** Does what a user chose in the popup; see `set_watched` in messages.ts. */
  async setWatched(tab: number, on: boolean, scope: 'tab' | 'origin'): Promise<void> {
    const { ready, settings, tabs, browser } = this.#options;
    await ready;
    const origin = watchableOrigin(await this.address(tab));
    if (origin === undefined) throw new Error(t('onlyWebPages'));
    const chosen = settings.origins[origin];
    const needsOrigin = on && (isDevelopment(origin) ? chosen === false : chosen !== true);
    if (scope === 'origin' || needsOrigin) {
      await settings.chooseOrigin(origin, on);
      if (!isDevelopment(origin)) await registerOrigin(origin, on);
    }
    if (scope === 'tab' || on) return tabs.choose(tab, on);
    const all = await browser.tabs.query({});
    const same = all.filter(({ url }) => watchableOrigin(url) === origin);
    await Promise.all(same.map(({ id }) => (id === undefined ? undefined : tabs.refresh(id))));
  }

  /** Pauses watching everywhere, or resumes it where it was on. */
  async pause(paused: boolean): Promise<void> {
    const { ready, settings, tabs, browser } = this.#options;
    await ready;
    await settings.choosePaused(paused);
    const all = await browser.tabs.query({});
    await Promise.all(all.map(({ id }) => (id === undefined ? undefined : tabs.refresh(id))));
    this.#options.paused();
  }

  /** Has pages be captured in another way from now on: those of an origin, or all. */
  async setWay(chosen: Way, origin?: string): Promise<void> {
    const { ready, settings, tabs, way, browser } = this.#options;
    await ready;
    await settings.chooseWay(chosen, origin);
    await this.registerPages();
    for (const { id, url } of await browser.tabs.query({})) {
      if (id === undefined || (origin !== undefined && watchableOrigin(url) !== origin)) continue;
      await settings.chooseQuiet(id, false);
      if (way(id) === undefined || way(id) === this.wayFor(id, url)) continue;
      await tabs.restart(id);
    }
  }

  /** Does what a user chose in the popup for the pages of a tab's origin. */
  async setWayOf(tab: number, chosen: Way): Promise<void> {
    const origin = watchableOrigin(await this.address(tab));
    if (origin === undefined) throw new Error(t('onlyWebPages'));
    await this.setWay(chosen, origin);
  }
}
