import type { ContentEvent } from '../../messages';
import { attribute, isElement, readyStateOf, tagOf } from '../dom';

/** As what the host knows such a script. */
const SELECTOR = 'script[type=module]';

/** The number of the first one. Other error elements are numbered from 1. */
const FIRST_ID = 2 ** 31;

/** The most scripts that are reported. */
const MAX = 10;

/** What the witness of a document's modules needs of its surroundings. */
export interface FailedModulesOptions {
  /** Names the document. */
  document: string;
  emit: (event: ContentEvent) => void;
  signal: AbortSignal;
  now?: () => number;
}

/**
 * Reports the modules of a document that did not load, because of their own file or of one that they import. Their code does
 * not run until the document is loaded again, so each is an error element for as long as the document is shown.
 */
export class FailedModules {
  readonly #view: Window;
  readonly #options: FailedModulesOptions;
  readonly #now: () => number;
  readonly #found: ContentEvent[] = [];
  #running = false;

  constructor(root: Document, options: FailedModulesOptions) {
    this.#view = root.defaultView ?? window;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const failed = ({ isTrusted, target }: Event): void => {
      // A script that the page inserts later is not the document's: it may be tried again.
      if (isTrusted && isElement(target) && readyStateOf(root) !== 'complete') this.#failed(target);
    };
    root.addEventListener('error', failed, { capture: true, passive: true, signal: options.signal });
  }

  /**
   * A module did not load that the page's code imported dynamically. It counts if that was while the document was loaded: code that
   * runs later, as after a click, may import it again.
   */
  unimported(url: string, at: number): void {
    const { performance, location } = this.#view;
    if (at < Math.floor(performance.timeOrigin) || !url.startsWith(`${location.origin}/`)) return;
    const asked = performance.getEntriesByName(url, 'resource').at(-1)?.startTime;
    const [document] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
    const loaded = document?.loadEventStart || Number.POSITIVE_INFINITY;
    if (asked !== undefined && asked < loaded) this.#report(`the module ${new URL(url).pathname}`);
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    for (const event of this.#found) this.#options.emit(event);
  }

  stop(): void {
    this.#running = false;
  }

  /** The reports, for a worker that has lost them. */
  shown(): ContentEvent[] {
    return [...this.#found];
  }

  #failed(script: Element): void {
    if (tagOf(script) !== 'script' || attribute(script, 'type') !== 'module') return;
    const { src } = script as HTMLScriptElement;
    if (src !== '' && !src.startsWith(`${this.#view.location.origin}/`)) return;
    this.#report(src === '' ? 'an inline module script' : `the module script ${new URL(src).pathname}`);
  }

  #report(name: string): void {
    if (this.#found.length === MAX) return;
    const event: ContentEvent = {
      kind: 'element',
      op: 'appeared',
      at: this.#now(),
      document: this.#options.document,
      id: FIRST_ID + this.#found.length,
      selector: SELECTOR,
      text: `${name} did not load; its code runs after the page is loaded again`,
    };
    this.#found.push(event);
    if (this.#running) this.#options.emit(event);
  }
}
