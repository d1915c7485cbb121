/** The content scripts in the tabs' frames: their events, and asking them to hurry. */

import type { Way } from '../capture/chosen';
import { clean } from '../clean';
import { type Held, hideHeld } from '../held';
import type { ContentEvent, FromContent, ToContent } from '../messages';
import type { AnyEvent } from '../protocol';
import { MASK, redactText } from '../redact/redact';

/** What Chromium throws for a module that was imported dynamically and did not load, or a module that it imports. */
const UNIMPORTED =
  /^(?:Uncaught )?(?:\(in promise\) )?TypeError: Failed to fetch dynamically imported module: (\S+)/;

/** The part of a content script's port that is used. */
export interface ContentPort {
  readonly sender?:
    | {
        tab?: { id?: number | undefined } | undefined;
        frameId?: number | undefined;
        documentId?: string | undefined;
      }
    | undefined;
  postMessage(message: ToContent): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

interface Frame {
  readonly port: ContentPort;
  readonly document: string;
  /** What the content script reports. */
  on: boolean;
  hooks: boolean;
  /** Whether there are hooks in the page's own world, and whether the witness beside the debugger is. */
  hooked: boolean;
  witnessed: boolean;
  /** How a title of the document is shown that contains what a sensitive field holds. */
  title?: { readonly of: string; readonly shown: string };
  /** What sensitive fields of the document hold. */
  held?: Held;
}

/** What the frames need of their surroundings. */
export interface FramesOptions {
  emit(event: AnyEvent): void;
  watched(tab: number): boolean;
  /** Whether the tab needs reports of the hooks in the page's own world. */
  hooks(tab: number): boolean;
  /** A document has its hooks; `from` (milliseconds since the epoch) when it came before they did. */
  hooked(tab: number, frame: number, from: number | undefined): void;
  /** The hooks of a document have sent records. */
  page(tab: number, frame: number, document: string, lists: readonly string[], dropped: number): void;
  /** A document has changed since it was looked at, or is a new one. */
  stale(tab: number): void;
  /** The document of a frame was removed. */
  gone(tab: number, frame: number): void;
  /** Called when the top frame of a tab has or has no content script now, or has named its title. */
  changed(tab: number): void;
}

/** Keeps the port of every frame. Events of tabs that are not watched are not passed on. */
export class ContentFrames {
  readonly #options: FramesOptions;
  readonly #tabs = new Map<number, Map<number, Frame>>();
  readonly #flushes = new Map<number, () => void>();
  #flushId = 0;

  constructor(options: FramesOptions) {
    this.#options = options;
  }

  /** Takes a new port. A frame has one at a time: another one means another document, or a new script in it. */
  connect(port: ContentPort): void {
    const tab = port.sender?.tab?.id;
    const frame = port.sender?.frameId;
    if (tab === undefined || frame === undefined) return;
    const frames = this.#tabs.get(tab) ?? new Map<number, Frame>();
    this.#tabs.set(tab, frames);
    const document = port.sender?.documentId ?? crypto.randomUUID();
    const on = this.#options.watched(tab);
    const hooks = on && this.#options.hooks(tab);
    frames.set(frame, { port, document, on, hooks, hooked: false, witnessed: false });
    port.onMessage.addListener((message) => {
      const sent = message as FromContent;
      // What a document did while it was left may come after the next one's first message.
      if (frames.get(frame)?.port === port || sent.t === 'page') this.#message(tab, frame, document, sent);
    });
    port.onDisconnect.addListener(() => {
      if (frames.get(frame)?.port !== port) return;
      frames.delete(frame);
      if (frames.size === 0) this.#tabs.delete(tab);
      this.#options.gone(tab, frame);
      this.#reset(tab, frame, '');
      if (frame === 0) this.#options.changed(tab);
    });
    this.#reset(tab, frame, document);
    this.#options.stale(tab);
    port.postMessage({ t: 'watch', on, mask: MASK, ...(hooks && { hooks }) });
    if (frame === 0) this.#options.changed(tab);
  }

  #reset(tab: number, frame: number, document: string): void {
    if (!this.#options.watched(tab)) return;
    this.#options.emit({ kind: 'element', at: Date.now(), tab, op: 'reset', frame, document, id: 0 });
  }

  #message(tab: number, frame: number, document: string, message: FromContent): void {
    if (message.t === 'flushed') {
      this.#flushes.get(message.id)?.();
    } else if (message.t === 'events' && this.#options.watched(tab)) {
      for (const event of message.events) this.#options.emit(complete(event, tab, frame, document));
    } else if (message.t === 'hooked') {
      const state = this.#tabs.get(tab)?.get(frame);
      if (state !== undefined && message.witness === true) state.witnessed = true;
      if (state === undefined || state.hooked || message.witness === true) return;
      state.hooked = true;
      this.#options.hooked(tab, frame, message.from);
    } else if (message.t === 'page') {
      // A page that was left before it heard from the worker sends the records of both.
      if (!this.#options.watched(tab) || this.#options.hooks(tab) === (message.witness === true)) return;
      this.#options.page(tab, frame, document, message.lists, message.dropped ?? 0);
    } else if (message.t === 'stale') {
      this.#options.stale(tab);
    } else if (message.t === 'held') {
      const state = this.#tabs.get(tab)?.get(frame);
      if (state !== undefined) state.held = message.held;
    } else if (message.t === 'title' && frame === 0) {
      const state = this.#tabs.get(tab)?.get(frame);
      if (state !== undefined) state.title = { of: message.title, shown: message.shown };
      this.#options.changed(tab);
    }
  }

  /** Tells the content scripts of a tab whether it is watched. */
  watch(tab: number): void {
    const on = this.#options.watched(tab);
    const hooks = on && this.#options.hooks(tab);
    for (const [id, frame] of this.#tabs.get(tab) ?? []) {
      if (frame.on === on && frame.hooks === hooks) continue;
      if (frame.on !== on) this.#reset(tab, id, frame.document);
      frame.on = on;
      frame.hooks = hooks;
      frame.port.postMessage({ t: 'watch', on, mask: MASK, ...(hooks && { hooks }) });
    }
  }

  /** A tab's title without what sensitive fields of its page hold. */
  title(tab: number, title: string): string {
    const known = this.#tabs.get(tab)?.get(0)?.title;
    return known?.of === title ? known.shown : this.hide(tab, title);
  }

  /** A short text of a tab, cleaned, without secrets: those that sensitive fields of its pages hold, and those of the rules. */
  hide(tab: number, text: string): string {
    let hidden = clean(text);
    for (const { held } of this.#tabs.get(tab)?.values() ?? [])
      if (held !== undefined) hidden = hideHeld(hidden, held, MASK);
    return redactText(hidden).text;
  }

  /** Whether the content script of the tab's present document answers. */
  has(tab: number): boolean {
    return this.#tabs.get(tab)?.has(0) === true;
  }

  /** The documents of a tab whose content scripts have not found a way of capture in the page's own world so far. */
  unhooked(tab: number, way: Way): string[] {
    return [...(this.#tabs.get(tab)?.values() ?? [])]
      .filter(({ hooked, witnessed }) => !(way === 'quiet' ? hooked : witnessed))
      .map(({ document }) => document);
  }

  /** The frames of a tab that have a content script. */
  frames(tab: number): number[] {
    return [...(this.#tabs.get(tab)?.keys() ?? [])];
  }

  /** Has a tab's content scripts send what they hold; false when the top frame's did not in time. */
  async flush(tab: number, timeoutMs: number): Promise<boolean> {
    const frames = [...(this.#tabs.get(tab) ?? [])];
    const answers = await Promise.all(
      frames.map(async ([id, { port }]) => [id, await this.#flushFrame(port, timeoutMs)]),
    );
    return answers.some(([frame, answered]) => frame === 0 && answered === true);
  }

  /** Takes an event of a tab: its page is told of a dynamic import that failed without being handled. */
  saw(event: AnyEvent): void {
    if (event.kind !== 'console' || event.target !== undefined || event.left === true) return;
    if (event.via !== 'exception' && event.via !== 'rejection') return;
    const [, url] = UNIMPORTED.exec(event.text) ?? [];
    const port = this.#tabs.get(event.tab)?.get(0)?.port;
    if (url !== undefined) port?.postMessage({ t: 'unimported', url, at: event.at });
  }

  #flushFrame(port: ContentPort, timeoutMs: number): Promise<boolean> {
    const id = ++this.#flushId;
    return new Promise((resolve) => {
      const done = (answered: boolean): void => {
        clearTimeout(timer);
        this.#flushes.delete(id);
        resolve(answered);
      };
      const timer = setTimeout(done, timeoutMs, false);
      this.#flushes.set(id, () => done(true));
      try {
        port.postMessage({ t: 'flush', id });
      } catch {
        done(false);
      }
    });
  }
}

/** Fills in what a content script cannot know, and searches for secrets again. */
function complete(event: ContentEvent, tab: number, frame: number, document: string): AnyEvent {
  if (event.kind === 'element') {
    const text = redactText(event.text ?? '');
    const masked = (event.masked ?? 0) + text.masked;
    return {
      ...event,
      tab,
      frame,
      document,
      ...(event.text !== undefined && { text: text.text }),
      ...(masked > 0 && { masked }),
    };
  }
  const target = redactText(event.target);
  const value = redactText(event.value ?? '');
  const masked = (event.masked ?? 0) + target.masked + value.masked;
  return {
    ...event,
    tab,
    ...(frame !== 0 && { frame }),
    target: target.text,
    ...(event.value !== undefined && { value: value.text }),
    ...(masked > 0 && { masked }),
  };
}
