import type { ContentEvent } from '../../messages';
import {
  bodyOf,
  firstChildOf,
  has,
  hasChildElements,
  isElement,
  isShadowRoot,
  matches,
  nextSiblingOf,
  nodeTypeOf,
  readyStateOf,
  shadowRootOf,
  tagOf,
} from '../dom';
import { overlayOf } from '../error-overlays';

/** How long a page must be empty to count: views that are replaced are empty for a moment. Milliseconds. */
const CONFIRM = 300;

/** When a page is looked at that has never shown anything, after it has loaded. Milliseconds. */
const AFTER_LOAD = 1000;

/** The most nodes looked at. A page that has more without content counts as one that shows something. */
const MAX_NODES = 500;

/** The most nodes looked at to see whether a change left an element without content. */
const MAX_LEFT = 20;

/** Elements that show nothing by themselves, whatever they hold. */
const UNSEEN = new Set('script style link meta template noscript title head'.split(' '));

/** Elements that show something without any text. */
const SEEN = new Set(
  'img svg canvas video audio picture iframe frame object embed input button select textarea progress meter'.split(
    ' ',
  ),
);

/** What the witness of empty pages needs of its surroundings. */
export interface EmptyPageOptions {
  /** Names the document. */
  document: string;
  emit: (event: ContentEvent) => void;
  signal: AbortSignal;
  now?: () => number;
}

/**
 * Reports that the document has no visible content, and that it has some again. It looks when a change left an element
 * without content, and once after the page has loaded.
 */
export class EmptyPage {
  readonly #root: Document;
  readonly #options: EmptyPageOptions;
  readonly #now: () => number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the page was empty when the timer began. */
  #empty = false;
  #running: AbortController | undefined;
  /** Since when the page is empty, as reported. */
  #since: number | undefined;

  constructor(root: Document, options: EmptyPageOptions) {
    this.#root = root;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    options.signal.addEventListener('abort', () => this.stop(), { once: true });
  }

  start(view: EventTarget): void {
    if (this.#running !== undefined || this.#options.signal.aborted) return;
    this.#running = new AbortController();
    const loaded = (): void => {
      if (hasPlace(this.#root)) this.#confirm(AFTER_LOAD);
    };
    if (readyStateOf(this.#root) === 'complete') loaded();
    else view.addEventListener('load', loaded, { once: true, signal: this.#running.signal });
  }

  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#since = undefined;
  }

  /** The page changed. */
  changed(records: readonly MutationRecord[]): void {
    if (this.#running === undefined) return;
    if (this.#since !== undefined) {
      if (!isEmpty(this.#root)) this.#report('filled', this.#now());
    } else if (this.#timer !== undefined) {
      const empty = isEmpty(this.#root);
      if (empty && this.#empty) return;
      clearTimeout(this.#timer); // if it empties again, that is when it began
      this.#timer = undefined;
      if (empty) this.#confirm(CONFIRM);
    } else if (records.some(tookTheLast) && isEmpty(this.#root)) {
      this.#confirm(CONFIRM);
    }
  }

  /** The report that the page is empty, for a worker that has lost it. */
  shown(): ContentEvent[] {
    return this.#since === undefined ? [] : [this.#event('emptied', this.#since)];
  }

  #confirm(wait: number): void {
    const since = this.#now();
    this.#empty = isEmpty(this.#root);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (isEmpty(this.#root)) this.#report('emptied', this.#empty ? since : this.#now());
    }, wait);
  }

  #report(op: 'emptied' | 'filled', at: number): void {
    this.#since = op === 'emptied' ? at : undefined;
    this.#options.emit(this.#event(op, at));
  }

  #event(op: 'emptied' | 'filled', at: number): ContentEvent {
    return { kind: 'element', op, at, document: this.#options.document, id: 0 };
  }
}

/** Whether a change left a part of the page without content, as far as few nodes and no styles say. */
function tookTheLast({ type, target, removedNodes }: MutationRecord): boolean {
  if (type !== 'childList' || removedNodes.length === 0) return false;
  const part = nodeTypeOf(target) === Node.DOCUMENT_NODE ? bodyOf(target as Document) : target;
  let left = MAX_LEFT;
  let places = 0;
  const isHollow = (parent: Node): boolean => {
    for (let child = firstChildOf(parent); child !== null; child = nextSiblingOf(child)) {
      if (--left < 0) return false;
      if (nodeTypeOf(child) === Node.TEXT_NODE && /\S/.test(child.nodeValue ?? '')) return false;
      if (!isElement(child) || UNSEEN.has(tagOf(child))) continue;
      places++;
      if (SEEN.has(tagOf(child)) || !isHollow(shadowRootOf(child) ?? child)) return false;
    }
    return true;
  };
  if (part === null || !isHollow(part)) return false;
  return places > 0 || !isElement(part) || !hasChildElements(part);
}

/** Whether a document has an element for content: one that has none is not an application's. */
function hasPlace(document: Document): boolean {
  const body = bodyOf(document);
  for (let child = body && firstChildOf(body); child !== null; child = nextSiblingOf(child)) {
    if (isElement(child) && !UNSEEN.has(tagOf(child)) && overlayOf(child) === undefined) return true;
  }
  return false;
}

/** Whether an element has no box of its own, but its children have theirs, as SvelteKit's outermost one. */
function isContents(element: Element): boolean {
  return getComputedStyle(element).display === 'contents';
}

/** Whether a document shows nothing. One without a body is still loading. */
export function isEmpty(document: Document): boolean {
  const body = bodyOf(document);
  if (body === null) return false;
  let left = MAX_NODES;
  const shows = (node: Node): boolean => {
    if (--left < 0) return true;
    if (nodeTypeOf(node) === Node.TEXT_NODE) return /\S/.test(node.nodeValue ?? '');
    if (!isElement(node)) return isShadowRoot(node) && anyShows(node);
    const tag = tagOf(node);
    if (UNSEEN.has(tag) || has(node, 'hidden') || overlayOf(node) !== undefined) return false;
    if (typeof node.checkVisibility === 'function' && !node.checkVisibility() && !isContents(node))
      return false;
    if (SEEN.has(tag)) return true;
    const shadow = shadowRootOf(node);
    if (shadow !== null) return anyShows(shadow);
    // A custom element may show what its closed shadow root holds.
    return anyShows(node) || (tag.includes('-') && matches(node, ':defined'));
  };
  const anyShows = (parent: Node): boolean => {
    for (let child = firstChildOf(parent); child !== null; child = nextSiblingOf(child)) {
      if (shows(child)) return true;
    }
    return false;
  };
  return !anyShows(body);
}
