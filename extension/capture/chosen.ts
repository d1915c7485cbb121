/** Captures each tab in the way that is chosen for it. */
import type { CaptureSource, Started, StartOptions } from './source';

/** The ways there are; see docs/CAPTURE.md. */
export type Way = 'quiet' | 'debugger';

/** One source of two: the debugger where it is chosen and may be used, and the quiet one. */
export class ChosenSource implements CaptureSource {
  readonly name = 'chosen';
  readonly #ways: Readonly<Record<Way, CaptureSource>>;
  readonly #choose: (tab: number, url: string | undefined) => Way;
  readonly #running = new Map<number, Way>();

  constructor(
    ways: Readonly<Record<Way, CaptureSource>>,
    choose: (tab: number, url: string | undefined) => Way,
  ) {
    this.#ways = ways;
    this.#choose = choose;
  }

  /** How a tab is captured; undefined when it is not. */
  way(tab: number): Way | undefined {
    return this.#running.get(tab);
  }

  async start(tab: number, options: StartOptions): Promise<Started> {
    const way = this.#choose(tab, options.url ?? (await options.shown?.()));
    const before = this.#running.get(tab);
    if (before !== undefined && before !== way) await this.#ways[before].stop(tab);
    this.#running.set(tab, way);
    try {
      return await this.#ways[way].start(tab, options);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // The browser's own pages refuse everybody; another refusal is meant for the debugger alone.
      if (way === 'quiet' || /Cannot access|No tab with/.test(message)) {
        this.#running.delete(tab);
        throw error;
      }
      this.#running.set(tab, 'quiet');
      return await this.#ways.quiet.start(tab, options);
    }
  }

  async stop(tab: number): Promise<void> {
    const way = this.#running.get(tab);
    this.#running.delete(tab);
    if (way !== undefined) await this.#ways[way].stop(tab);
  }

  runs(tab: number): boolean {
    const way = this.#running.get(tab);
    return way !== undefined && this.#ways[way].runs(tab);
  }

  async barrier(tab: number): Promise<void> {
    const way = this.#running.get(tab);
    if (way !== undefined) await this.#ways[way].barrier(tab);
  }
}
