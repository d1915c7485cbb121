/** Serves the panel and the side panel: forwards their requests to the host and reports the connection state. */
import type { ConnectionState, FromViewer, ToViewer } from '../../messages';
import { t } from '../../text';

/** The part of the viewer's port that is used. */
export interface ViewerPort {
  postMessage(message: ToViewer): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

/** What serving needs of the worker. */
export interface ViewerOptions {
  connection(): ConnectionState;
  connect(): void;
  request(method: string, params: unknown): Promise<unknown>;
  /** Brings an element of a tab into view; false when there is none. */
  reveal(tab: number, selector: string): Promise<boolean>;
}

/** The host's methods that a viewer may ask for; nothing else passes. */
const METHOD = /^view_[a-z_]+$/;

/** Serves any number of viewers (each DevTools window may have one). */
export class ViewerServer {
  readonly #options: ViewerOptions;
  readonly #ports = new Set<ViewerPort>();
  #told = '';

  constructor(options: ViewerOptions) {
    this.#options = options;
  }

  connect(port: ViewerPort): void {
    this.#ports.add(port);
    port.onMessage.addListener((message) => void this.#message(port, message as FromViewer));
    port.onDisconnect.addListener(() => this.#ports.delete(port));
    this.#post(port, { t: 'connection', connection: this.#options.connection() });
    this.#options.connect();
  }

  /** The connection state has changed. */
  changed(): void {
    const connection = this.#options.connection();
    // What waits in the queue changes all the time and is nothing to a viewer.
    const text = `${connection.state} ${connection.text} ${connection.retry_at ?? 0} ${connection.dropped}`;
    if (text === this.#told) return;
    this.#told = text;
    for (const port of this.#ports) this.#post(port, { t: 'connection', connection });
  }

  async #message(port: ViewerPort, message: FromViewer): Promise<void> {
    const { id } = message;
    try {
      const result = await this.#do(message);
      this.#post(port, { t: 'done', id, result });
    } catch (error) {
      this.#post(port, { t: 'done', id, error: error instanceof Error ? error.message : String(error) });
    }
  }

  async #do(message: FromViewer): Promise<unknown> {
    switch (message.t) {
      case 'ask':
        if (!METHOD.test(message.method)) throw new Error(t('notForViewers', message.method));
        return await this.#options.request(message.method, message.params);
      case 'reveal':
        if (!(await this.#options.reveal(message.tab, message.selector))) {
          throw new Error(t('elementGone'));
        }
        return {};
      case 'connect':
        this.#options.connect();
        return {};
    }
  }

  #post(port: ViewerPort, message: ToViewer): void {
    if (!this.#ports.has(port)) return;
    try {
      port.postMessage(message);
    } catch {
      this.#ports.delete(port); // it went away in the meantime
    }
  }
}
