/** A browser for tests of the worker: tabs, storage, content scripts, the native host; events are fired by hand. */

/** An event of the `chrome` API. */
export class FakeEvent<A extends unknown[] = never[]> {
  readonly listeners = new Set<(...args: A) => unknown>();

  addListener(listener: (...args: A) => unknown): void {
    this.listeners.add(listener);
  }

  removeListener(listener: (...args: A) => unknown): void {
    this.listeners.delete(listener);
  }

  /** Calls every listener, in the order in which they were added. */
  fire(...args: unknown[]): void {
    for (const listener of [...this.listeners]) listener(...(args as A));
  }
}

/** One end of a port; `got` is what the worker posted. */
export class FakePort {
  readonly got: { type?: string; t?: string; [field: string]: unknown }[] = [];
  readonly onMessage = new FakeEvent<[unknown]>();
  readonly onDisconnect = new FakeEvent<[]>();
  readonly name: string;
  readonly sender: object | undefined;
  open = true;

  constructor(name: string, sender?: object) {
    this.name = name;
    this.sender = sender;
  }

  postMessage(message: object): void {
    if (!this.open) throw new Error('Attempting to use a disconnected port object');
    this.got.push(structuredClone(message) as (typeof this.got)[number]);
  }

  disconnect(): void {
    this.open = false;
  }

  /** The other end is gone. */
  break(): void {
    this.open = false;
    this.onDisconnect.fire();
  }
}

/** A tab, as far as the worker reads it. */
export interface FakeTab {
  id: number;
  url: string;
  pendingUrl?: string;
  title?: string;
  status?: string;
  active: boolean;
  windowId: number;
}

class FakeStorage {
  readonly items: Record<string, unknown> = {};

  async get(keys: string[]): Promise<Record<string, unknown>> {
    return Object.fromEntries(
      keys.filter((key) => key in this.items).map((key) => [key, structuredClone(this.items[key])]),
    );
  }

  async set(items: Record<string, unknown>): Promise<void> {
    Object.assign(this.items, structuredClone(items));
  }
}

/** The extension's id, and where its pages are. */
export const ID = 'extensionid';
export const ROOT = `chrome-extension://${ID}/`;

/** What a page answers the debugger, where that is more than that there is nothing. */
const ANSWERS: Readonly<Record<string, object>> = {
  'Page.getFrameTree': { frameTree: { frame: { id: 'F1' } } },
};

/** A browser. Its tabs, its storage and what was asked of it are open to tests. */
export class FakeBrowser {
  readonly list: FakeTab[] = [];
  /** The native ports that the worker has opened, the newest last. */
  readonly natives: FakePort[] = [];
  /** What was asked of the debugger, as the method's name and the tab. */
  readonly debugged: string[] = [];
  readonly registered = new Map<string, chrome.scripting.RegisteredContentScript>();
  readonly alarmsMade: string[] = [];

  readonly storage = { local: new FakeStorage(), session: new FakeStorage() };
  readonly runtime = {
    id: ID,
    lastError: undefined as { message: string } | undefined,
    getURL: (path: string): string => ROOT + path,
    getManifest: () => ({ version: '1.2.3', content_scripts: [{ matches: ['http://localhost/*'] }] }),
    connectNative: (name: string): FakePort => {
      const port = new FakePort(name);
      this.natives.push(port);
      return port;
    },
    onConnect: new FakeEvent(),
    onInstalled: new FakeEvent(),
    onStartup: new FakeEvent(),
  };
  readonly debugger = {
    attach: async ({ tabId }: { tabId: number }): Promise<void> => void this.debugged.push(`attach ${tabId}`),
    detach: async ({ tabId }: { tabId: number }): Promise<void> => void this.debugged.push(`detach ${tabId}`),
    sendCommand: async (_: object, method: string): Promise<object> => {
      this.debugged.push(method);
      return ANSWERS[method] ?? { result: { type: 'undefined' } };
    },
    getTargets: async (): Promise<{ id: string; tabId?: number }[]> => [],
    onEvent: new FakeEvent(),
    onDetach: new FakeEvent(),
  };
  readonly tabs = {
    query: async (): Promise<FakeTab[]> => structuredClone(this.list),
    get: async (id: number): Promise<FakeTab> => {
      const tab = this.list.find((tab) => tab.id === id);
      if (tab === undefined) throw new Error(`No tab with id: ${id}.`);
      return structuredClone(tab);
    },
    update: async (id: number, to: Partial<FakeTab>): Promise<void> => {
      const tab = this.list.find((tab) => tab.id === id);
      if (tab !== undefined) Object.assign(tab, to);
    },
    onCreated: new FakeEvent(),
    onRemoved: new FakeEvent(),
    onReplaced: new FakeEvent(),
    onUpdated: new FakeEvent(),
    onActivated: new FakeEvent(),
  };
  readonly windows = { getLastFocused: async () => ({ id: 1 }), onFocusChanged: new FakeEvent() };
  readonly webNavigation = {
    getAllFrames: async () => [],
    onBeforeNavigate: new FakeEvent(),
    onCommitted: new FakeEvent(),
    onCompleted: new FakeEvent(),
    onDOMContentLoaded: new FakeEvent(),
    onErrorOccurred: new FakeEvent(),
    onHistoryStateUpdated: new FakeEvent(),
    onReferenceFragmentUpdated: new FakeEvent(),
    onCreatedNavigationTarget: new FakeEvent(),
  };
  readonly webRequest = {
    onBeforeRequest: new FakeEvent(),
    onSendHeaders: new FakeEvent(),
    onResponseStarted: new FakeEvent(),
    onBeforeRedirect: new FakeEvent(),
    onCompleted: new FakeEvent(),
    onErrorOccurred: new FakeEvent(),
  };
  readonly commands = { onCommand: new FakeEvent() };
  readonly permissions = {
    contains: async () => true,
    onAdded: new FakeEvent(),
    onRemoved: new FakeEvent(),
  };
  readonly alarms = {
    create: async (name: string): Promise<void> => void this.alarmsMade.push(name),
    onAlarm: new FakeEvent(),
  };
  readonly action = {
    setBadgeText: async () => undefined,
    setBadgeBackgroundColor: async () => undefined,
    setBadgeTextColor: async () => undefined,
    setTitle: async () => undefined,
  };
  readonly scripting = {
    getRegisteredContentScripts: async ({ ids }: { ids: string[] }) =>
      ids.flatMap((id) => this.registered.get(id) ?? []),
    registerContentScripts: async (scripts: chrome.scripting.RegisteredContentScript[]): Promise<void> => {
      for (const script of scripts) this.registered.set(script.id, script);
    },
    updateContentScripts: async (scripts: chrome.scripting.RegisteredContentScript[]): Promise<void> => {
      for (const script of scripts) this.registered.set(script.id, script);
    },
    unregisterContentScripts: async ({ ids }: { ids: string[] }): Promise<void> => {
      for (const id of ids) this.registered.delete(id);
    },
    executeScript: async () => [],
  };

  /** The browser as the worker takes it. */
  get chrome(): typeof chrome {
    return this as unknown as typeof chrome;
  }

  /** A tab is opened, and shows nothing yet. */
  open(id: number): void {
    this.list.push({ id, url: '', active: true, windowId: 1 });
    this.tabs.onCreated.fire({ id });
  }

  /** A tab goes to an address, and shows it: the events of that are fired. */
  navigate(id: number, url: string): void {
    const tab = this.list.find((tab) => tab.id === id);
    if (tab === undefined) throw new Error(`there is no tab ${id}`);
    const frame = { tabId: id, frameId: 0, url, documentLifecycle: 'active', timeStamp: Date.now() };
    this.webNavigation.onBeforeNavigate.fire(frame);
    const request = { requestId: `r-${url}`, tabId: id, frameId: 0, url, type: 'main_frame', method: 'GET' };
    this.webRequest.onBeforeRequest.fire({ ...request, timeStamp: Date.now() });
    Object.assign(tab, { url, title: `at ${url}`, status: 'complete' });
    this.tabs.onUpdated.fire(id, { url });
    this.webNavigation.onCommitted.fire({ ...frame, transitionType: 'link' });
    this.webNavigation.onCompleted.fire(frame);
  }

  /** A tab is closed. */
  close(id: number): void {
    this.list.splice(
      this.list.findIndex((tab) => tab.id === id),
      1,
    );
    this.tabs.onRemoved.fire(id);
  }

  /** A page connects to the worker. */
  connect(name: string, sender: object): FakePort {
    const port = new FakePort(name, sender);
    this.runtime.onConnect.fire(port);
    return port;
  }

  /** The browser ends the worker: its listeners and its ports are gone, what it stored stays. */
  endWorker(): void {
    for (const api of Object.values(this)) {
      for (const event of Object.values(api)) if (event instanceof FakeEvent) event.listeners.clear();
    }
    for (const port of this.natives) port.open = false;
  }

  /** The events of the API for which the worker registered nothing. */
  unheard(): string[] {
    return Object.entries(this).flatMap(([name, api]) =>
      Object.entries(api as object)
        .filter(([, event]) => event instanceof FakeEvent && event.listeners.size === 0)
        .map(([event]) => `${name}.${event}`),
    );
  }
}
