import type { ContentEvent } from '../messages';
import {
  all,
  attribute,
  contains,
  has,
  hasChildElements,
  isConnected,
  isElement,
  isShadowRoot,
  parentAcrossRoots,
  parentOf,
  readyStateOf,
  shadowRootOf,
  tagOf,
} from './dom';
import { ReportBatch, type Reported } from './element-report';
import { type Candidate, candidateOf, errorSelector, errorText, isAlert } from './error-rules';
import { isAnimating, visibilityOf } from './visibility';

/** What the watcher of error elements needs of its surroundings. */
export interface ErrorElementsOptions {
  /** Names the document; the same for as long as it lives. */
  document: string;
  /** Takes what was found, in order. */
  emit: (events: ContentEvent[]) => void;
  signal: AbortSignal;
  /** Told of the page's changes, before they are examined. */
  onChanges?: (records: readonly MutationRecord[]) => void;
  /** Told of every open shadow root that is found. */
  onShadowRoot?: (root: ShadowRoot) => void;
  now?: () => number;
}

/** An element that is, or may become, an error element. */
interface Entry {
  readonly element: Element;
  candidate: Candidate;
  /** As what it is shown; null while it is not. */
  reported: Reported | null;
  /** Since when a look at it is put off, milliseconds since the epoch; 0 when none is. */
  putOff: number;
}

/** Changes are examined at once where they touch an entry itself, else together after this many milliseconds. */
const PASS_INTERVAL = 50;

/** The most entries examined at once between two passes: a page that flickers waits for the pass. */
const LOOKS_BETWEEN_PASSES = 100;

/** The most elements watched in a document. */
export const MAX_ENTRIES = 1000;

/** The most custom elements that are waited for. */
const MAX_BARE = 500;

/** When to look again after the last change: a fade ends without any mutation. Milliseconds. */
const LOOK_AGAIN = [350, 850, 1800];

const OBSERVED: MutationObserverInit = {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: (
    'class style hidden id role open aria-invalid aria-hidden aria-describedby aria-errormessage ' +
    'data-type data-status'
  ).split(' '),
};

/** Events after which style sheets may show or hide something although no attribute changed. */
const STATE_EVENTS =
  'input change focusin focusout toggle invalid transitionend animationend readystatechange load'.split(' ');

/**
 * Watches a document for error elements: those that say an error, are visible, and stand in no other
 * one. Every change of the page is seen as it happens, so that an element that comes and goes between
 * two looks is reported, with both times.
 *
 * The work for a change is in proportion to the change: added elements are classified once, by their
 * attributes; style is computed for candidates only.
 */
export class ErrorElements {
  readonly #root: Document;
  readonly #options: ErrorElementsOptions;
  readonly #now: () => number;
  readonly #observer: MutationObserver;
  readonly #batch: ReportBatch;
  readonly #known = new Map<Element, Entry>();
  readonly #roots = new Set<Node>();
  /** Custom elements without a shadow root yet: one that is defined later gets it without a mutation. */
  readonly #bare = new Set<Element>();
  /** What was shown when it ended: the receiver still knows it. */
  #left: Reported[] = [];
  #running: AbortController | undefined;
  #passTimer: ReturnType<typeof setTimeout> | undefined;
  #againTimer: ReturnType<typeof setTimeout> | undefined;
  /** How many of {@link LOOK_AGAIN} were made since the last change. */
  #againStep = 0;
  #looks = 0;
  #overflowed = false;

  constructor(root: Document, options: ErrorElementsOptions) {
    this.#root = root;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#batch = new ReportBatch(options.document);
    this.#observer = new MutationObserver((records) => this.#take(records));
    options.signal.addEventListener('abort', () => this.stop(), { once: true });
  }

  /** Starts, and reports existing elements that were not reported before. `view` is the document's window. */
  start(view: EventTarget): void {
    if (this.#running !== undefined || this.#options.signal.aborted) return;
    this.#running = new AbortController();
    const listening = { capture: true, passive: true, signal: this.#running.signal };
    for (const type of STATE_EVENTS) view.addEventListener(type, () => this.#soon(), listening);
    this.#observe(this.#root);
    for (const reported of this.#left.splice(0)) this.#batch.gone(reported, this.#now());
    this.#scan(this.#root, this.#now());
    this.#pass();
  }

  /** Stops. Reported elements count as known after a restart, unless the report may not have been `heard`. */
  stop(heard = true): void {
    if (this.#running !== undefined && heard) {
      for (const { reported } of this.#known.values()) if (reported !== null) this.#left.push(reported);
    }
    this.#running?.abort();
    this.#running = undefined;
    this.#observer.disconnect();
    clearTimeout(this.#passTimer);
    clearTimeout(this.#againTimer);
    this.#passTimer = undefined;
    this.#againTimer = undefined;
    this.#known.clear();
    this.#roots.clear();
    this.#bare.clear();
    this.#batch.discard();
    this.#overflowed = false;
  }

  /** Examines every change up to now, and reports. */
  flush(): void {
    if (this.#running === undefined) return;
    this.#take(this.#observer.takeRecords());
    this.#pass();
  }

  /** The visible error elements, as if they had just appeared: for a worker that has lost them. */
  shown(): ContentEvent[] {
    const events: ContentEvent[] = [];
    for (const { reported } of this.#known.values()) {
      if (reported !== null) events.push(this.#batch.describe(reported));
    }
    return events;
  }

  #observe(root: Node): void {
    if (this.#roots.has(root)) return;
    this.#roots.add(root);
    this.#observer.observe(root, OBSERVED);
  }

  #take(records: readonly MutationRecord[]): void {
    if (records.length === 0) return;
    this.#options.onChanges?.(records);
    const at = this.#now();
    const added = new Map<Element, Element | null>();
    const touched = new Set<Element>();
    let removed = false;
    for (const record of records) {
      const { target } = record;
      if (record.type === 'attributes') {
        if (isElement(target)) this.#reclassify(target, record.attributeName ?? '', at);
        continue;
      }
      const parent = isElement(target) ? target : isShadowRoot(target) ? target.host : parentOf(target);
      if (record.type === 'childList') {
        for (const node of record.addedNodes) if (isElement(node)) added.set(node, parent);
        removed ||= record.removedNodes.length > 0;
      }
      if (parent !== null) touched.add(parent);
    }
    for (const [element, parent] of added) this.#arrived(element, parent, added, at);
    if (removed) this.#forgetRemoved(at);
    if (this.#known.size > 0) for (const element of touched) this.#touch(element, at);
    this.#deliver();
  }

  #arrived(element: Element, parent: Element | null, added: ReadonlyMap<Element, unknown>, at: number): void {
    for (let above = parentOf(element); above !== null; above = parentOf(above)) {
      if (added.has(above)) return; // it is found there
    }
    if (!isConnected(element)) {
      this.#cameAndWent(element, parent, at);
      return;
    }
    this.#scan(element, at);
    // A new style sheet shows and hides what is there already.
    if (tagOf(element) === 'style' || tagOf(element) === 'link') this.#soon();
  }

  /** Reports what was added and taken away again before anybody could look. */
  #cameAndWent(element: Element, parent: Element | null, at: number): void {
    const outer = parent === null ? undefined : this.#enclosing(parent);
    if (outer?.reported != null || outer?.candidate === 'overlay') return;
    // What a live region said for a moment is its message, whatever element said it.
    if (outer !== undefined && visibilityOf(outer.element) !== 'hidden') {
      const said = isHiddenByItself(element, element)
        ? null
        : errorText(element, outer.candidate, outer.element);
      if (said !== null && outer.candidate !== 'field') {
        const alert = isAlert(outer.element, outer.candidate);
        const selector = errorSelector(outer.element, outer.candidate);
        this.#batch.gone(this.#batch.appeared(selector, said, at, alert), at);
        return;
      }
    }
    for (const inside of selfAndDescendants(element)) {
      const candidate = candidateOf(inside);
      if (candidate === null || this.#known.has(inside) || isHiddenByItself(inside, element)) continue;
      const text = errorText(inside, candidate, inside === element ? parent : parentOf(inside));
      if (text === null) continue;
      const alert = isAlert(inside, candidate);
      this.#batch.gone(this.#batch.appeared(errorSelector(inside, candidate), text, at, alert), at);
      return; // the outermost element represents those inside it
    }
  }

  #scan(root: Element | Document | ShadowRoot, at: number): void {
    if (this.#known.size > 0 && isElement(root) && this.#enclosing(root)?.candidate === 'overlay') return;
    if (isElement(root)) {
      this.#classify(root, at);
      if (!hasChildElements(root)) return;
    }
    for (const element of all(root, '*')) this.#classify(element, at);
  }

  #classify(element: Element, at: number): void {
    const candidate = candidateOf(element);
    const shadow = shadowRootOf(element);
    if (shadow !== null) this.#enter(shadow, candidate === 'overlay' ? null : at);
    else if (this.#bare.size < MAX_BARE && tagOf(element).includes('-')) this.#await(element);
    if (candidate === null) return;
    const entry = this.#known.get(element) ?? this.#meet(element, candidate, at);
    if (entry !== undefined) this.#lookOrPutOff(entry, at);
  }

  /** Watches a shadow root; what it holds is searched unless `at` is null. */
  #enter(shadow: ShadowRoot, at: number | null): void {
    if (this.#roots.has(shadow)) return;
    this.#observe(shadow);
    this.#options.onShadowRoot?.(shadow);
    if (at !== null) this.#scan(shadow, at);
  }

  #await(element: Element): void {
    this.#bare.add(element);
    this.#soon();
  }

  #meet(element: Element, candidate: Candidate, at: number): Entry | undefined {
    if (this.#known.size >= MAX_ENTRIES) {
      if (!this.#overflowed) {
        this.#overflowed = true;
        const text = `More than ${MAX_ENTRIES} elements of this page look like errors. The rest are not watched.`;
        this.#batch.appeared('*', text, at, true);
      }
      return undefined;
    }
    const entry: Entry = { element, candidate, reported: null, putOff: 0 };
    this.#known.set(element, entry);
    return entry;
  }

  /** An attribute changed: the element may have become a candidate, or have ceased to be one. */
  #reclassify(element: Element, name: string, at: number): void {
    const entry = this.#known.get(element);
    if (name === 'style') {
      if (entry !== undefined) this.#lookOrPutOff(entry, at);
      // Animations set styles without end; only those around an entry matter.
      else if (this.#holdsEntry(element)) this.#soon();
      return;
    }
    const candidate = isConnected(element) ? candidateOf(element) : null;
    if (candidate === null) {
      if (entry !== undefined) {
        this.#hide(entry, at);
        this.#known.delete(element);
      }
    } else if (entry !== undefined) {
      entry.candidate = candidate;
      this.#lookOrPutOff(entry, at);
    } else {
      const met = this.#meet(element, candidate, at);
      if (met !== undefined) this.#lookOrPutOff(met, at);
    }
    // It may also show or hide others: those inside it, or next to it by a sibling rule.
    this.#soon();
  }

  #holdsEntry(element: Element): boolean {
    for (const known of this.#known.keys()) if (contains(element, known)) return true;
    return false;
  }

  /** Text or children of the element changed. */
  #touch(element: Element, at: number): void {
    const own = this.#known.get(element);
    if (own !== undefined) this.#lookOrPutOff(own, at);
    else if (this.#enclosing(element) !== undefined) this.#soon();
  }

  /** The innermost entry that holds the element, or is it. */
  #enclosing(element: Element): Entry | undefined {
    for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
      const entry = this.#known.get(at);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  #lookOrPutOff(entry: Entry, at: number): void {
    if (this.#looks < LOOKS_BETWEEN_PASSES && stylesAreThere(this.#root)) {
      this.#looks++;
      this.#look(entry, at);
    } else if (entry.putOff === 0) {
      entry.putOff = at;
    }
    this.#soon();
  }

  /** Decides whether the entry is an error element now, and reports a change of that. */
  #look(entry: Entry, at: number): void {
    const since = entry.putOff || at;
    entry.putOff = 0;
    const text =
      this.#isVisible(entry) && !this.#isInside(entry) ? errorText(entry.element, entry.candidate) : null;
    if (text === null) this.#hide(entry, at);
    else if (entry.reported === null) this.#show(entry, text, since);
    else if (withoutDigits(text) !== withoutDigits(entry.reported.text)) {
      this.#batch.changed(entry.reported, text, at);
    }
  }

  #isVisible(entry: Entry): boolean {
    const visibility = visibilityOf(entry.element);
    // Transparent: one that fades in counts from the beginning, one that fades out until the end.
    return visibility === 'shown' || (visibility === 'faint' && isAnimating(entry.element));
  }

  /** Whether another entry that is shown, or any overlay, holds this one. */
  #isInside(entry: Entry): boolean {
    for (let at = parentAcrossRoots(entry.element); at !== null; at = parentAcrossRoots(at)) {
      const outer = this.#known.get(at);
      if (outer !== undefined && (outer.reported !== null || outer.candidate === 'overlay')) return true;
    }
    return false;
  }

  #show(entry: Entry, text: string, at: number): void {
    for (const other of this.#known.values()) {
      if (other.reported !== null && contains(entry.element, other.element)) this.#hide(other, at);
    }
    const alert = isAlert(entry.element, entry.candidate);
    entry.reported = this.#batch.appeared(errorSelector(entry.element, entry.candidate), text, at, alert);
    if (entry.candidate !== 'overlay' || tagOf(entry.element) !== 'iframe') return;
    const inside = (entry.element as HTMLIFrameElement).contentDocument;
    if (inside !== null) this.#observe(inside);
  }

  #hide(entry: Entry, at: number): void {
    if (entry.reported === null) return;
    this.#batch.gone(entry.reported, at);
    entry.reported = null;
    this.#soon(); // the elements inside may now count on their own
  }

  #forgetRemoved(at: number): void {
    for (const [element, entry] of this.#known) {
      if (isConnected(element)) continue;
      this.#known.delete(element);
      this.#hide(entry, at);
      if (entry.putOff === 0 || isHiddenByItself(element, null)) continue;
      // It came and went while looks were put off.
      const text = errorText(element, entry.candidate);
      if (text === null) continue;
      const alert = isAlert(element, entry.candidate);
      const selector = errorSelector(element, entry.candidate);
      this.#batch.gone(this.#batch.appeared(selector, text, entry.putOff, alert), at);
    }
  }

  /** Looks at everything known soon, together with what else changes until then, and again later. */
  #soon(): void {
    if (this.#running === undefined || (this.#known.size === 0 && this.#bare.size === 0)) return;
    this.#passTimer ??= setTimeout(() => this.#pass(), PASS_INTERVAL);
    this.#againStep = 0;
    this.#again();
  }

  #again(): void {
    const wait = LOOK_AGAIN[this.#againStep];
    if (this.#againTimer !== undefined || wait === undefined) return;
    this.#againTimer = setTimeout(() => {
      this.#againTimer = undefined;
      this.#againStep++;
      this.#pass();
      if (this.#againStep === LOOK_AGAIN.length) this.#bare.clear();
      this.#again();
    }, wait);
  }

  #pass(): void {
    clearTimeout(this.#passTimer);
    this.#passTimer = undefined;
    this.#looks = 0;
    const at = this.#now();
    for (const element of this.#bare) {
      const shadow = shadowRootOf(element);
      if (shadow === null && isConnected(element)) continue;
      this.#bare.delete(element);
      if (shadow !== null) this.#enter(shadow, at);
    }
    this.#forgetRemoved(at);
    if (this.#known.size > 0 && stylesAreThere(this.#root)) {
      for (const entry of [...this.#known.values()]) this.#look(entry, at);
    }
    this.#deliver();
  }

  #deliver(): void {
    const events = this.#batch.take();
    if (events.length > 0) this.#options.emit(events);
  }
}

function* selfAndDescendants(root: Element): Generator<Element> {
  yield root;
  yield* all(root, '*');
}

/**
 * Whether an element that is no longer in the page was hidden by markup, up to `top`, the root of
 * its subtree (null: as far as the subtree reaches).
 */
function isHiddenByItself(element: Element, top: Element | null): boolean {
  for (let at: Element | null = element; at !== null; at = parentOf(at)) {
    if (has(at, 'hidden')) return true;
    if (/display\s*:\s*none|visibility\s*:\s*hidden/i.test(attribute(at, 'style'))) return true;
    if (at === top) return false;
  }
  return false;
}

/**
 * Whether it can be told what is visible: while a document's first style sheets are under way, what
 * they hide would count as shown.
 */
function stylesAreThere(document: Document): boolean {
  const state = readyStateOf(document);
  if (state !== 'interactive') return state === 'complete';
  for (const link of all(document, 'link[rel~=stylesheet]')) {
    const { sheet, disabled } = link as HTMLLinkElement;
    if (sheet === null && !disabled) return false;
  }
  return true;
}

/** A changed count or countdown is the same message. */
function withoutDigits(text: string): string {
  return text.replace(/\d+/g, '0');
}
