import { CONTENT_PORT, type FromContent, type ToContent } from '../messages';

/** What the content script does with the worker's side of the line. */
export interface LinkHandlers {
  /** A new port was opened; the worker at its other end may be another one than before. */
  connected(): void;
  message(message: ToContent): void;
  /** The document is being left: what waits is to be posted now. */
  leaving(): void;
  /** The extension was removed or replaced: this script is an orphan and must go silent for good. */
  orphaned(): void;
}

const FIRST_RETRY = 100;
const LAST_RETRY = 30_000;

/**
 * The connection to the worker: one port, reopened whenever it is cut while the extension exists. The
 * worker may be stopped at any time; connecting starts it again.
 */
export class Link {
  readonly #handlers: LinkHandlers;
  #port: chrome.runtime.Port | undefined;
  #retry = FIRST_RETRY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    handlers: LinkHandlers,
    signal: AbortSignal,
    trusted: (event: Event) => boolean = (event) => event.isTrusted,
  ) {
    this.#handlers = handlers;
    signal.addEventListener('abort', () => this.#close(), { once: true });
    // A document in the back-forward cache loses its port without being told, after its own listeners have
    // run: what they do is still posted. A new one is opened when it comes back.
    addEventListener(
      'pagehide',
      (event) => {
        if (!trusted(event)) return; // a page that only says so wants not to be watched
        this.#handlers.leaving();
      },
      { capture: true, signal },
    );
    addEventListener(
      'pageshow',
      (event) => {
        if (!trusted(event) || !event.persisted) return;
        this.#close();
        this.connect();
      },
      { capture: true, signal },
    );
  }

  /** Opens the port unless it is open. */
  connect(): void {
    clearTimeout(this.#timer);
    if (this.#port !== undefined) return;
    try {
      const port = chrome.runtime.connect({ name: CONTENT_PORT });
      port.onMessage.addListener((message: ToContent) => {
        this.#retry = FIRST_RETRY;
        this.#handlers.message(message);
      });
      port.onDisconnect.addListener(() => {
        void chrome.runtime.lastError; // reading it keeps the browser from complaining in the page's log
        if (this.#port !== port) return;
        this.#port = undefined;
        this.#later();
      });
      this.#port = port;
      this.#handlers.connected();
    } catch {
      this.#later();
    }
  }

  /** Posts to the worker; false if there is no connection, or it breaks. */
  post(message: FromContent): boolean {
    if (this.#port === undefined) return false;
    try {
      this.#port.postMessage(message);
      return true;
    } catch {
      this.#port = undefined;
      this.#later();
      return false;
    }
  }

  #later(): void {
    // Without an id the extension was removed, and cannot be reached again.
    if (chrome.runtime?.id === undefined) {
      this.#handlers.orphaned();
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), this.#retry);
    this.#retry = Math.min(this.#retry * 2, LAST_RETRY);
  }

  #close(): void {
    clearTimeout(this.#timer);
    const port = this.#port;
    this.#port = undefined;
    try {
      port?.disconnect();
    } catch {
      // it was cut already
    }
  }
}
