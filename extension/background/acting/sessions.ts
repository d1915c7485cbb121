/**
 * Debugger sessions for acting, shared with capture and debugging. A tab is attached for an action and detached
 * after a while without one.
 */
import type { Protocol } from 'devtools-protocol';
import type { Command, Params, Result } from '../../capture/context';
import type { DebuggerAPI } from '../../capture/debugger';
import { MAX_HIDDEN } from '../../held';
import type { ActDialog } from '../../protocol';
import { MASK, redactText } from '../../redact/redact';

/** How long a session that was made for acting is kept, in ms. */
const KEEP_MS = 20_000;

/** How long a page may take to be ready for input, in ms. */
const ENABLE_MS = 1000;

/** The longest text of a dialog that is reported, in UTF-16 units. */
const MAX_TEXT = 10_000;

/** Sends a command to a tab's page. */
export type TabSend = <C extends Command>(command: C, params?: Params<C>) => Promise<Result<C>>;

/** Takes the events of a tab's page. */
export type Listener = (method: string, params: unknown) => void;

interface Session {
  timer?: ReturnType<typeof setTimeout> | undefined;
}

/** What the sessions need of their surroundings. */
export interface SessionsOptions {
  api: DebuggerAPI;
  /** Called when something that is waited for may have changed: a dialog, a file chooser. */
  changed(tab: number): void;
  downloads(tab: number, name: string, url: string): void;
  /** Takes secrets out of a text of a tab's page, and cleans it. */
  hide(tab: number, text: string): string;
  /** The answer to a request begins to come. */
  answered(tab: number, request: string): void;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #tabs = new Map<number, Session>();
  readonly #dialogs = new Map<number, ActDialog>();
  readonly #refused = new Map<number, string>();
  /** Sessions of frames in other processes, by tab and the debugger's own id of the frame. */
  readonly #frames = new Map<number, Map<string, string>>();
  readonly #listeners = new Map<number, Set<Listener>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The dialog that a tab's page has open. */
  dialog(tab: number): ActDialog | undefined {
    return this.#dialogs.get(tab);
  }

  /** That dialog without secrets: all that is ever reported of it. */
  shown(tab: number): ActDialog | undefined {
    const dialog = this.#dialogs.get(tab);
    if (dialog === undefined) return undefined;
    const { message, default: text } = dialog;
    return {
      ...dialog,
      message: this.#hide(tab, message),
      ...(text !== undefined && { default: isAskedFor(message, text) ? MASK : this.#hide(tab, text) }),
    };
  }

  #hide(tab: number, text: string): string {
    const hidden = this.#options.hide(tab, text.slice(0, MAX_TEXT));
    // What is cut in two is not recognized.
    return text.length > MAX_TEXT ? `${hidden.slice(0, -MAX_HIDDEN)}…` : hidden;
  }

  /** A way to send commands to a tab; rejects with why there is none. */
  async of(tab: number): Promise<TabSend> {
    const refused = this.#refused.get(tab);
    if (refused !== undefined) throw new Error(refused);
    const send = this.#sendTo({ tabId: tab });
    const known = this.#tabs.get(tab);
    if (known !== undefined) {
      clearTimeout(known.timer);
      return send;
    }
    await this.#options.api.attach({ tabId: tab }, '1.3');
    this.#tabs.set(tab, {});
    const enabled = Promise.all([
      send('Page.enable'),
      // The page draws, and takes input, whether its tab is in front or not.
      send('Emulation.setFocusEmulationEnabled', { enabled: true }),
    ]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hangs = new Promise((resolve) => {
      timer = setTimeout(resolve, ENABLE_MS); // it takes them when it is free again
    });
    await Promise.race([enabled, hangs]);
    clearTimeout(timer);
    return send;
  }

  #sendTo(target: { tabId: number; sessionId?: string }): TabSend {
    const send: TabSend = (command, params) =>
      this.#options.api.sendCommand(target, command, params as object) as ReturnType<typeof send>;
    return send;
  }

  /** A way to send commands to a frame of a tab that is in another process than the one around it. */
  async frame(tab: number, around: TabSend, frameId: string): Promise<TabSend> {
    const known = (): string | undefined => this.#frames.get(tab)?.get(frameId);
    if (known() === undefined) {
      // Those that are there are told before this is answered. Where the page is captured, they were told before.
      const attach = { waitForDebuggerOnStart: false, flatten: true };
      await around('Target.setAutoAttach', { autoAttach: true, ...attach });
    }
    const sessionId = known();
    if (sessionId === undefined) throw new Error('the frame is in a process that cannot be reached');
    return this.#sendTo({ tabId: tab, sessionId });
  }

  /** An action ended: releases the tab's session after a while without further actions. */
  release(tab: number): void {
    const session = this.#tabs.get(tab);
    if (session === undefined) return;
    clearTimeout(session.timer);
    session.timer = setTimeout(() => void this.#letGo(tab, session), KEEP_MS);
  }

  async #letGo(tab: number, session: Session): Promise<void> {
    if (this.#tabs.get(tab) !== session || this.#dialogs.has(tab)) return;
    this.#tabs.delete(tab);
    const { api } = this.#options;
    const focus = api.sendCommand({ tabId: tab }, 'Emulation.setFocusEmulationEnabled', { enabled: false });
    await focus.catch(() => undefined);
    await api.detach({ tabId: tab }).catch(() => undefined);
  }

  /** Adds a listener for events of a tab's page. The returned function removes it. */
  listen(tab: number, listener: Listener): () => void {
    const listeners = this.#listeners.get(tab) ?? new Set();
    this.#listeners.set(tab, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(tab) === listeners) this.#listeners.delete(tab);
    };
  }

  /** Takes an event of `chrome.debugger.onEvent`. */
  event(
    source: { tabId?: number | undefined; sessionId?: string | undefined },
    method: string,
    params: unknown,
  ): void {
    const { tabId: tab } = source;
    if (tab === undefined) return;
    if (method === 'Page.javascriptDialogOpening') {
      const { type, message, defaultPrompt } = params as Protocol.Page.JavascriptDialogOpeningEvent;
      this.#dialogs.set(tab, {
        kind: type,
        message,
        ...(defaultPrompt !== undefined && defaultPrompt !== '' && { default: defaultPrompt }),
      });
      this.#options.changed(tab);
    } else if (method === 'Page.javascriptDialogClosed') {
      this.#dialogs.delete(tab);
      this.#options.changed(tab);
    } else if (method === 'Target.attachedToTarget') {
      const { sessionId, targetInfo } = params as Protocol.Target.AttachedToTargetEvent;
      const frames = this.#frames.get(tab) ?? new Map<string, string>();
      this.#frames.set(tab, frames.set(targetInfo.targetId, sessionId));
    } else if (method === 'Target.detachedFromTarget') {
      const { sessionId } = params as Protocol.Target.DetachedFromTargetEvent;
      for (const [frame, id] of this.#frames.get(tab) ?? [])
        if (id === sessionId) this.#frames.get(tab)?.delete(frame);
    } else if (method === 'Network.responseReceived') {
      this.#options.answered(tab, (params as Protocol.Network.ResponseReceivedEvent).requestId);
    } else if (method === 'Page.downloadWillBegin') {
      const { suggestedFilename, url } = params as Protocol.Page.DownloadWillBeginEvent;
      this.#options.downloads(tab, suggestedFilename, url);
    }
    if (source.sessionId !== undefined) return;
    for (const listener of this.#listeners.get(tab) ?? []) listener(method, params);
  }

  /** Takes an event of `chrome.debugger.onDetach`. */
  detached(tab: number | undefined, reason: string): void {
    if (tab === undefined) return;
    if (reason === 'canceled_by_user' && this.#tabs.has(tab)) {
      this.#refused.set(tab, 'the user closed the debugging bar');
    }
    clearTimeout(this.#tabs.get(tab)?.timer);
    this.#tabs.delete(tab);
    this.#dialogs.delete(tab);
    this.#frames.delete(tab);
    this.#options.changed(tab);
  }

  /** The tab was closed. */
  closed(tab: number): void {
    clearTimeout(this.#tabs.get(tab)?.timer);
    for (const map of [this.#tabs, this.#dialogs, this.#refused, this.#listeners, this.#frames])
      map.delete(tab);
    this.#options.changed(tab);
  }
}

/** Whether what a dialog offers as its answer is a secret by the question: "Your password:", "x". */
function isAskedFor(message: string, answer: string): boolean {
  const key = message.slice(-MAX_TEXT).replace(/[\s:?.]{1,20}$/, '');
  return redactText(`${key}: ${JSON.stringify(answer.slice(0, MAX_TEXT))}`).text.endsWith(`: "${MASK}"`);
}
