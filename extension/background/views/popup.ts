/** Serves the popup: pushes the whole state after every change, and does what it asks. */
import type { Way } from '../../capture/chosen';
import type { AskHost, ConnectionState, FromPopup, PopupState, PopupTab, ToPopup } from '../../messages';
import { POPUP_METHODS, type PopupMethods } from '../../methods';
import type { Overview } from '../../protocol';
import { t } from '../../text';

/** The part of the popup's port that is used. */
export interface PopupPort {
  postMessage(message: ToPopup): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

/** What serving needs of the worker. */
export interface PopupOptions {
  connection(): ConnectionState;
  /** Connects to the host at once when it is not connected. */
  connect(): void;
  tabs(): Promise<PopupTab[]>;
  request: AskHost;
  setWatched(tab: number, on: boolean, scope: 'tab' | 'origin'): Promise<void>;
  setWay(tab: number, way: Way): Promise<void>;
  paused(): boolean;
  pause(paused: boolean): Promise<void>;
  /** Resumes everything that an agent has paused in a tab. */
  resume(tab: number): Promise<void>;
}

/** How long changes are gathered before they are pushed, and how often the host is asked, in ms. */
const PUSH_MS = 50;
const OVERVIEW_MS = 2000;

/** Serves any number of popups (each window may have one). */
export class PopupServer {
  readonly #options: PopupOptions;
  readonly #ports = new Set<PopupPort>();
  #overview: Overview | undefined;
  /** Whether the host was asked since the connection is there. */
  #asked = false;
  #pushTimer: ReturnType<typeof setTimeout> | undefined;
  #overviewTimer: ReturnType<typeof setInterval> | undefined;

  constructor(options: PopupOptions) {
    this.#options = options;
  }

  connect(port: PopupPort): void {
    this.#ports.add(port);
    port.onMessage.addListener((message) => void this.#message(port, message as FromPopup));
    port.onDisconnect.addListener(() => {
      this.#ports.delete(port);
      if (this.#ports.size > 0) return;
      clearInterval(this.#overviewTimer);
      this.#overviewTimer = undefined;
    });
    this.#overviewTimer ??= setInterval(() => void this.#askHost(), OVERVIEW_MS);
    this.#options.connect();
    void this.#push();
    void this.#askHost();
  }

  /** Something that the popup shows has changed. */
  changed(): void {
    if (this.#ports.size === 0) return;
    this.#pushTimer ??= setTimeout(() => {
      this.#pushTimer = undefined;
      void this.#push();
    }, PUSH_MS);
  }

  /** What the host shows of itself has changed. */
  ask(): void {
    if (this.#ports.size > 0) void this.#askHost();
  }

  async #push(): Promise<void> {
    const tabs = await this.#options.tabs();
    const connection = this.#options.connection();
    if (connection.state !== 'connected') {
      this.#overview = undefined;
      this.#asked = false;
    } else if (!this.#asked) void this.#askHost();
    const state: PopupState = {
      connection,
      tabs,
      ...(this.#options.paused() && { paused: true }),
      ...(this.#overview !== undefined && { overview: this.#overview }),
    };
    for (const port of this.#ports) port.postMessage({ t: 'state', state });
  }

  async #askHost(): Promise<void> {
    if (this.#options.connection().state !== 'connected') return;
    this.#asked = true;
    try {
      this.#overview = await this.#options.request('overview', { tabs: true });
    } catch {
      this.#overview = undefined; // the connection's state says why
    }
    this.changed();
  }

  async #message(port: PopupPort, message: FromPopup): Promise<void> {
    const { id } = message;
    try {
      const result = await this.#do(message);
      port.postMessage({ t: 'done', id, ...(result !== undefined && { result }) });
    } catch (error) {
      port.postMessage({ t: 'done', id, error: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Does what a popup requests, and returns the host's answer to `ask`. */
  async #do(message: FromPopup): Promise<unknown> {
    switch (message.t) {
      case 'set_watched':
        await this.#options.setWatched(message.tab, message.on, message.scope);
        this.changed();
        return undefined;
      case 'set_way':
        await this.#options.setWay(message.tab, message.way);
        this.changed();
        return undefined;
      case 'ask': {
        const { method, params } = message;
        if (!POPUP_METHODS.has(method)) throw new Error(t('notForViewers', method));
        const result = await this.#options.request(method as keyof PopupMethods, params as never);
        await this.#askHost();
        return result;
      }
      case 'resume':
        await this.#options.resume(message.tab);
        this.changed();
        return undefined;
      case 'pause':
        await this.#options.pause(message.paused);
        this.changed();
        return undefined;
      case 'refresh':
        this.#options.connect();
        await this.#askHost();
        return undefined;
    }
  }
}
