/** The list of tabs that the host and the popup are sent. */
import type { PopupTab } from '../messages';
import type { Tab } from '../protocol';
import { hostTabs, popupTabs, type TabFacts } from './listing';
import { permissionFor, watchableOrigin } from './rules';

/** How long changes are collected before the host is sent the list, in ms. */
const TABS_MS = 100;

/** What the list needs of its surroundings. */
export interface TabListOptions {
  readonly browser: Pick<typeof chrome, 'tabs' | 'windows' | 'permissions'>;
  /** What is known of tabs besides what the browser reports. */
  readonly facts: Omit<TabFacts, 'window'>;
  /** Sends the list to the host. */
  send(tabs: Tab[]): void;
}

/** Sends the host the list of tabs whenever it differs from the one that was sent last. */
export class TabList {
  readonly #options: TabListOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sent = '';

  constructor(options: TabListOptions) {
    this.#options = options;
  }

  /** Something in the list has changed: the host is sent it soon. */
  changed(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.send();
    }, TABS_MS);
  }

  /** Sends the list now, unless it is the same as before. */
  async send(): Promise<void> {
    const list: Tab[] = hostTabs(...(await this.#read()));
    const text = JSON.stringify(list);
    if (text === this.#sent) return;
    this.#sent = text;
    this.#options.send(list);
  }

  /** The list for the popup. */
  async popup(): Promise<PopupTab[]> {
    const [all, facts] = await this.#read();
    return popupTabs(all, facts, await this.#missingPermissions());
  }

  async #read(): Promise<[chrome.tabs.Tab[], TabFacts]> {
    const { browser, facts } = this.#options;
    const [all, window] = await Promise.all([
      browser.tabs.query({}),
      browser.windows.getLastFocused().catch(() => undefined),
    ]);
    return [all, { ...facts, window: window?.id }];
  }

  async #missingPermissions(): Promise<Set<string>> {
    const { tabs, permissions } = this.#options.browser;
    const origins = new Set<string>();
    for (const { url } of await tabs.query({})) {
      const origin = watchableOrigin(url);
      if (origin !== undefined) origins.add(permissionFor(origin));
    }
    const missing = new Set<string>();
    await Promise.all(
      [...origins].map(async (pattern) => {
        if (!(await permissions.contains({ origins: [pattern] }))) missing.add(pattern);
      }),
    );
    return missing;
  }
}
