/** The one attachment that an extension may have to a tab, shared by those who need it. */
import type { DebuggerAPI } from '../capture/debugger';

interface Attachment {
  users: number;
  attached: Promise<void>;
}

/** Attaches for the first who asks, and detaches when the last one lets go. */
export class SharedDebugger implements DebuggerAPI {
  readonly #api: DebuggerAPI;
  readonly #attachments = new Map<number, Attachment>();

  constructor(api: DebuggerAPI) {
    this.#api = api;
  }

  async attach({ tabId }: { tabId: number }, version: string): Promise<void> {
    const known = this.#attachments.get(tabId);
    if (known !== undefined) {
      known.users++;
      return await known.attached;
    }
    const first: Attachment = { users: 1, attached: this.#attach(tabId, version) };
    this.#attachments.set(tabId, first);
    try {
      await first.attached;
    } catch (error) {
      if (this.#attachments.get(tabId) === first) this.#attachments.delete(tabId);
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
    const known = this.#attachments.get(tabId);
    if (known !== undefined && --known.users > 0) return;
    this.#attachments.delete(tabId);
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
    return this.#attachments.has(tab);
  }

  /** The browser has detached from a tab. */
  detached(tab: number): void {
    this.#attachments.delete(tab);
  }
}
