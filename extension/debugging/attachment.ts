/** The one attachment that an extension may have to a tab, shared by those who need it. */
import type { DebuggerAPI } from '../capture/debugger';

interface Held {
  holders: number;
  attached: Promise<void>;
}

/** Attaches for the first who asks, and detaches when the last one lets go. */
export class SharedDebugger implements DebuggerAPI {
  readonly #api: DebuggerAPI;
  readonly #held = new Map<number, Held>();

  constructor(api: DebuggerAPI) {
    this.#api = api;
  }

  async attach({ tabId }: { tabId: number }, version: string): Promise<void> {
    const held = this.#held.get(tabId);
    if (held !== undefined) {
      held.holders++;
      return await held.attached;
    }
    const first: Held = { holders: 1, attached: this.#attach(tabId, version) };
    this.#held.set(tabId, first);
    try {
      await first.attached;
    } catch (error) {
      if (this.#held.get(tabId) === first) this.#held.delete(tabId);
      throw error;
    }
  }

  async #attach(tabId: number, version: string): Promise<void> {
    try {
      await this.#api.attach({ tabId }, version);
    } catch (error) {
      // An earlier life of this worker may have left its own session behind.
      if (!/already attached/.test(String(error))) throw error;
      await this.#api.detach({ tabId });
      await this.#api.attach({ tabId }, version);
    }
  }

  async detach({ tabId }: { tabId: number }): Promise<void> {
    const held = this.#held.get(tabId);
    if (held !== undefined && --held.holders > 0) return;
    this.#held.delete(tabId);
    await this.#api.detach({ tabId });
  }

  sendCommand(
    target: { tabId: number; sessionId?: string } | { targetId: string },
    method: string,
    params?: object,
  ): Promise<unknown> {
    return this.#api.sendCommand(target, method, params);
  }

  /** Whether somebody holds the attachment to a tab. */
  attached(tab: number): boolean {
    return this.#held.has(tab);
  }

  /** The browser has detached from a tab. */
  detached(tab: number): void {
    this.#held.delete(tab);
  }
}
