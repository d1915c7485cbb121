/**
 * One document's accessibility tree, kept between looks: what a mutation, an input or a moved focus made
 * stale is computed anew, everything else is not.
 *
 * Style sheets can show and hide anything without a mutation, so whether an element is shown is asked of
 * the browser (it knows) once anything gave a sign that it may differ; the values of fields, which scripts
 * set without a trace, at every look. Between looks this is done ahead, in the page's idle time.
 */
import { beginAriaCaches, endAriaCaches } from 'ivya/utils';
import type { AriaNode } from '../../protocol';
import { isDrawnCode } from '../code-editor';
import { first, has, isConnected, nodeTypeOf, parentAcrossRoots, tagOf } from '../dom';
import type { SensitiveFields } from '../sensitive/fields';
import { Signals } from '../signals';
import { isEditingHost } from '../text';
import { Ahead } from './ahead';
import {
  fold,
  INTERACTIVE,
  isControl,
  isDisturbed,
  isModal,
  LEAVES,
  read,
  type Surroundings,
  traceless,
} from './element';
import { Focus } from './focus';
import { complete } from './hints';
import { isCustom } from './internals';
import { isPictured, readAround, repeats } from './items';
import { Labels } from './labels';
import { Lines } from './lines';
import {
  canGrow,
  childrenOf,
  isClickable,
  isPart,
  Part,
  type Segment,
  sameFacts,
  shownAs,
  TRANSPARENT,
  textNode,
} from './part';
import { References } from './references';
import { generatedText, hidesContent, isBlock, isPointed, isUnhit, PSEUDOS, shadowOf } from './rendering';
import { type FrameSlot, isFrameTag, showsFrame, slotOf } from './slots';
import { Stale } from './stale';
import { Unannounced } from './unannounced';

/** The most elements that are read; beyond it they are counted. */
const MAX_ELEMENTS = 100_000;

/** How long the page is blocked at a time, in ms; well under what a user would notice. */
const SLICE_MS = 12;

/** After which time without being asked elements are asked though nothing gave a sign of a change, in ms. */
const UNASKED_MS = 1000;

/** How deep an element may stand for the library to read it: it goes up by recursion. */
const MAX_LIBRARY_DEPTH = 1000;

/** Never shown, whatever style sheets say, and never read. */
const UNREAD = new Set('head script style template noscript link meta base title datalist'.split(' '));
/** What they contain is shown only where they cannot work, or is their value. */
const CLOSED = new Set('textarea input video audio canvas embed iframe frame meter progress'.split(' '));

/** What may be operable inside a picture or a switch, and is lost unless it has a line of its own. */
const MAYBE_OPERABLE =
  'a, button, input, select, textarea, summary, iframe, foreignObject, [role], [tabindex], [onclick], [contenteditable]';

/** What a look answers with. */
export interface Look {
  since: number;
  version: number;
  root: number;
  /** Those that changed, each as JSON: written one by one, so that a large page is not kept from its work. */
  nodes: string[];
  left: number;
}

export class AriaTree {
  readonly #document: Document;
  readonly #sensitive: SensitiveFields;
  readonly #changed: () => void;
  readonly #parts = new WeakMap<Element, Part>();
  readonly #ids = new WeakMap<Node, number>();
  readonly #live = new Set<Part>();
  readonly #byId = new Map<number, Part>();
  /** Those that show a frame, or may. */
  readonly #frames = new Set<Part>();
  /** What came since the last look. */
  readonly #fresh: Part[] = [];
  readonly #observer = new MutationObserver((records) => this.#mutated(records));
  readonly #roots = new WeakSet<Node>();
  readonly #lines = new Lines(
    (element) => this.#parts.get(element),
    (node) => this.#id(node),
  );
  readonly #unannounced = new Unannounced((part, whole) => {
    if (whole) part.staleKids = true;
    this.#stale.itself(part);
    this.#stale.namesAbove(part);
    this.#signals.came();
  });
  readonly #labels = new Labels();
  readonly #references = new References(this.#labels);
  /** What has to be read. */
  readonly #stale = new Stale({
    partOf: (element) => this.#parts.get(element),
    isClosed: (part) => this.#isClosed(part),
    lines: this.#lines,
    unannounced: this.#unannounced,
    references: this.#references,
  });
  readonly #signals: Signals;
  readonly #ahead = new Ahead((until) => this.#workAhead(until));
  /** How many signs of a change there were when all were asked last, and when that was. */
  #asked = -1;
  #askedAt = 0;
  /** What was begun ahead of a look. */
  #begun: Generator<void> | undefined;
  #lastId = 0;
  #version = 0;
  #look = 0;
  #left = 0;
  #mask = '';
  readonly #focused: Focus;

  /** Changed is called whenever the document has. */
  constructor(document: Document, sensitive: SensitiveFields, changed: () => void) {
    this.#document = document;
    this.#sensitive = sensitive;
    this.#changed = changed;
    this.#focused = new Focus(document);
    this.#signals = new Signals(document, this.#ahead.soon);
    this.#observe(document);
  }

  /**
   * Brings the tree up to date and answers with what changed since a version. Works in slices, so that
   * the page goes on; what it changes meanwhile is taken in until the time is over. As a whole, what leaves
   * no trace is looked for everywhere, which takes a little longer.
   */
  async look(since: number, mask: string, timeoutMs: number, whole: boolean): Promise<Look> {
    this.#mask = mask;
    this.#mutated(this.#observer.takeRecords());
    this.#focus();
    const top = this.#document.documentElement;
    if (top === null) return { since: 0, version: ++this.#version, root: 0, nodes: [], left: 0 };
    const root = this.#part(top, undefined);
    this.#ahead.leave();
    try {
      if (this.#begun !== undefined) await this.#slices(this.#begun);
      this.#begun = undefined;
      this.#signals.look();
      await this.#slices(this.#work(performance.now() + timeoutMs, whole ? 'everything' : 'what may differ'));
      const left = this.#left + this.#stale.size;
      const answer: Look = { since: 0, version: 0, root: root.id, nodes: [], left };
      await this.#slices(this.#answer(root, since, answer));
      return answer;
    } finally {
      this.#ahead.looked(this.#askedAt);
    }
  }

  /** Does what a look would have to do; returns whether that is done. */
  #workAhead(until: number): boolean {
    this.#begun ??= this.#work(Number.POSITIVE_INFINITY, 'all');
    if (!this.#slice(this.#begun, until)) return false;
    this.#begun = undefined;
    return true;
  }

  /** How many mutations there were so far, those of this very moment included. */
  get mutations(): number {
    this.#mutated(this.#observer.takeRecords());
    return this.#stale.mutations;
  }

  /** The element of a node with its current state; undefined if it is no longer in the tree. */
  find(id: number): { element: Element; role: string; name: string } | undefined {
    this.#mutated(this.#observer.takeRecords());
    const part = this.#byId.get(id);
    if (part === undefined || !isConnected(part.element)) return undefined;
    if (part.staleSelf) {
      this.#labels.forget();
      beginAriaCaches();
      try {
        this.#renewSelf(part);
        this.#unannounced.renewed(part);
      } finally {
        endAriaCaches();
      }
      this.#stale.add(part);
    }
    return { element: part.element, role: part.facts.role, name: part.facts.name };
  }

  /** The fields that are in the tree. */
  *fields(): Iterable<Element> {
    for (const { element, tag } of this.#unannounced.controls)
      if (tag === 'input' || tag === 'textarea') yield element;
  }

  /** The id of the innermost element around one that has a line of its own; undefined for none. */
  around(element: Element): number | undefined {
    for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
      const part = this.#parts.get(at);
      if (part?.live === true && part.facts.role !== '' && part.facts.role !== 'document') return part.id;
    }
    return undefined;
  }

  /** Which frames stand where at this moment: frames come, go and move without a trace on their elements. */
  slots(): FrameSlot[] {
    const slots: FrameSlot[] = [];
    for (const part of this.#frames) if (showsFrame(part.element, part.tag)) slots.push(slotOf(part));
    return slots;
  }

  /** Does work in slices. */
  async #slices(work: Generator<void>): Promise<void> {
    while (!this.#slice(work, performance.now() + SLICE_MS)) await pause();
  }

  /** Does work until a time is over; returns whether it is done. */
  #slice(work: Generator<void>, until: number): boolean {
    this.#labels.forget();
    beginAriaCaches();
    try {
      let done = false;
      do done = work.next().done === true;
      while (!done && performance.now() < until);
      return done;
    } finally {
      endAriaCaches();
    }
  }

  /** Reads until the time is over; what was read is put in order in any case. */
  *#work(deadline: number, asks: 'what may differ' | 'all' | 'everything'): Generator<void> {
    yield* this.#read(deadline); // before anything is asked of what has gone
    if (asks !== 'what may differ') yield* this.#unannounced.styled(asks === 'everything');
    yield* this.#unannounced.fields();
    yield* this.#unannounced.hidden();
    yield* this.#unannounced.grown(asks === 'everything');
    if (
      asks !== 'what may differ' ||
      this.#asked !== this.#signals.count ||
      performance.now() - this.#askedAt > UNASKED_MS
    ) {
      const signs = this.#signals.count;
      yield* this.#unannounced.shown();
      this.#asked = signs;
      this.#askedAt = performance.now();
    }
    yield* this.#unannounced.restyledInside(); // of what was read after that, too
    yield* this.#read(deadline);
    yield* this.#unannounced.decide();
    yield* this.#lines.settle(this.#fresh);
  }

  /** Reads what is stale, until the time is over. */
  *#read(deadline: number): Generator<void> {
    let steps = 0;
    for (let late = false; !late && this.#stale.size > 0; this.#mutated(this.#observer.takeRecords())) {
      for (const part of this.#downwards()) {
        if (part.live) this.#renew(part);
        if (++steps % 8 !== 0) continue;
        yield;
        late = performance.now() >= deadline;
        if (late) break;
      }
    }
  }

  /** Takes out what is stale, in the order of the page: when the time is over, its beginning is read whole. */
  *#downwards(): Generator<Part> {
    for (const first of this.#stale) {
      const open = [first];
      for (let part = open.pop(); part !== undefined; part = open.pop()) {
        if (!this.#stale.delete(part)) continue;
        yield part;
        for (let i = part.kids.length - 1; i >= 0; i--) {
          const kid = part.kids[i] as Part | Text;
          if (isPart(kid) && this.#stale.has(kid)) open.push(kid);
        }
      }
    }
  }

  #focus(): void {
    const moved = this.#focused.moved();
    if (moved.size > 0) this.#signals.came(); // a frame that takes the focus has no event
    for (const element of moved) this.#stale.touched(element);
  }

  #mutated(records: readonly MutationRecord[]): void {
    if (records.length > 0) this.#changed();
    this.#signals.mutated(records);
    this.#stale.mutated(records);
  }

  #observe(root: Document | ShadowRoot): void {
    const isInside = nodeTypeOf(root) === Node.DOCUMENT_FRAGMENT_NODE;
    if (isInside) this.#signals.observe(root as ShadowRoot);
    if (this.#roots.has(root)) return;
    this.#roots.add(root);
    this.#observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
    if (isInside) {
      root.addEventListener('slotchange', (event) => this.#stale.slotted(event.target as Element));
    }
  }

  #part(element: Element, parent: Part | undefined): Part {
    let part = this.#parts.get(element);
    if (part === undefined) {
      part = new Part(element, this.#id(element));
      this.#parts.set(element, part);
      this.#attach(part);
    } else if (!part.live) {
      part.live = true;
      part.staleSelf = part.staleKids = true;
      part.facts = TRANSPARENT;
      part.kids = [];
      this.#attach(part);
    }
    part.parent = parent;
    part.depth = parent === undefined ? 0 : parent.depth + 1;
    return part;
  }

  #attach(part: Part): void {
    this.#live.add(part);
    this.#byId.set(part.id, part);
    this.#fresh.push(part);
    part.gathered = undefined;
    part.unlisted = true;
    this.#stale.add(part);
    if (isControl(part.tag)) this.#unannounced.controls.add(part);
    if (isFrameTag(part.tag)) this.#frames.add(part);
  }

  #detach(part: Part): void {
    const leaving = [part];
    for (let next = leaving.pop(); next !== undefined; next = leaving.pop()) {
      next.live = false;
      this.#left -= next.left;
      next.left = 0;
      this.#live.delete(next);
      this.#byId.delete(next.id);
      this.#frames.delete(next);
      this.#unannounced.forget(next);
      for (const label of this.#references.naming(next)) this.#stale.relabelled(this.#parts.get(label));
      this.#stale.givenBack(this.#references.forget(next));
      for (const kid of next.kids) if (isPart(kid) && kid.parent === next) leaving.push(kid);
    }
  }

  #id(node: Node): number {
    const known = this.#ids.get(node);
    if (known !== undefined) return known;
    this.#ids.set(node, ++this.#lastId);
    return this.#lastId;
  }

  #renew(part: Part): void {
    if (part.staleSelf) this.#renewSelf(part);
    if (part.staleKids) this.#renewKids(part);
    part.asked = part.hasText || INTERACTIVE.has(part.facts.role);
    this.#unannounced.renewed(part);
  }

  #renewSelf(part: Part): void {
    part.staleSelf = false;
    const before = part.facts;
    const wasShown = part.shown;
    const { inert: wasInert, hushes: hushed } = part;
    if (isCustom(part.tag)) part.traceless = traceless(part.element, part.tag); // may give it attributes
    part.inert =
      has(part.element, 'inert') || (part.parent?.inert === true && !isModal(part.element, part.tag));
    part.hushed = part.parent?.hushed === true || part.parent?.hushes === true;
    part.drawn = (part.tag === 'div' || part.tag === 'pre') && isDrawnCode(part.element);
    part.shown = shownAs(part);
    part.disturbed =
      part.parent?.disturbed === true ||
      part.depth > MAX_LIBRARY_DEPTH ||
      (part.tag === 'form' && isDisturbed(part.element));
    if (part.shown === 'hidden') {
      part.facts = TRANSPARENT;
      if (isControl(part.tag)) this.#references.note(part); // a label represents it
    } else {
      const style = getComputedStyle(part.element);
      const wasBlock = part.block;
      part.block = isBlock(part.tag, style);
      const wasHidden = part.contentHidden;
      part.contentHidden = hidesContent(part.element, part.tag, style);
      if (part.contentHidden !== wasHidden) part.staleKids = true;
      if (part.block !== wasBlock) {
        this.#lines.changed(part);
        this.#lines.changed(part.parent);
      }
      this.#renewGenerated(part);
      const wasPointed = part.pointer;
      part.pointer = isPointed(style);
      const wasUnhit = part.unhit;
      part.unhit = isUnhit(style);
      // What is inside inherits that, without a mutation of its own.
      if (part.unhit !== wasUnhit && part.kids.length > 0) this.#unannounced.restyled.add(part);
      if (part.pointer !== wasPointed) {
        for (const kid of part.kids) if (isPart(kid) && kid.pointer) this.#stale.itself(kid);
      }
      const surroundings: Surroundings = {
        disturbed: part.disturbed,
        labels: this.#labels,
        sensitive: this.#sensitive,
        mask: this.#mask,
      };
      part.facts = read(part.element, surroundings);
      if (isControl(part.tag) && !isCustom(part.tag)) part.traceless = traceless(part.element, part.tag);
      readAround(part, surroundings);
      complete(part);
      const { role, name, description } = part.facts;
      const isDecoration = role === 'img' && name + description === '' && part.parent?.pictured !== true;
      if (isDecoration && !isClickable(part)) part.facts = TRANSPARENT;
      part.hushes = isEditingHost(part.element) || (LEAVES.has(part.facts.role) && !isDrawing(part));
      if (part.shown === 'itself hidden' || (part.hushed && !isKeptInside(part.facts.role)))
        part.facts = TRANSPARENT;
      this.#focused.read(part.element, part.facts.states);
      this.#references.note(part);
      if (before === TRANSPARENT) {
        // A label represents a field only until the field is shown.
        for (const label of this.#references.naming(part)) {
          const named = this.#parts.get(label);
          if (named?.tag === 'label' && named.facts.role === 'generic') this.#stale.itself(named);
        }
      }
    }
    if (part.shown !== wasShown) {
      part.staleKids = true;
      if (part.tag === 'select' || part.tag === 'optgroup') this.#stale.below(part);
      for (const label of this.#references.naming(part)) this.#stale.relabelled(this.#parts.get(label));
    }
    if (part.inert !== wasInert) part.staleKids = true;
    if (part.inert !== wasInert || part.hushes !== hushed) this.#stale.below(part);
    if (before.role !== part.facts.role) {
      // The role decides which content is allowed and whose children they are.
      part.staleKids = true;
    }
    if (sameFacts(before, part.facts)) return;
    part.version = 0;
    for (const label of this.#references.naming(part)) this.#lines.changedThroughout(this.#parts.get(label));
    if (part.facts.role !== '') this.#lines.changed(part);
    this.#lines.changed(part.parent);
  }

  /** Takes in what style sheets write around what a part contains. */
  #renewGenerated(part: Part): void {
    for (const [at, pseudo] of PSEUDOS) {
      const text = generatedText(part.element, pseudo);
      const known = part.generated[at];
      if (text === (known?.data ?? '')) continue;
      part.generated[at] = text === '' ? undefined : (known ?? new Text(text));
      if (known !== undefined && text !== '') {
        known.data = text;
        this.#lines.changed(part);
      } else {
        part.staleKids = true;
      }
    }
    if (part.generated.some((node) => node !== undefined && fold(node.data) !== ''))
      this.#unannounced.generating.add(part);
    else if (part.contentHidden) this.#unannounced.generating.add(part);
    else this.#unannounced.generating.delete(part);
  }

  #renewKids(part: Part): void {
    part.staleKids = false;
    this.#left -= part.left;
    part.left = 0;
    const before = part.kids;
    const kids: (Part | Text)[] = [];
    if (part.shown !== 'hidden' && !this.#isClosed(part)) {
      part.shadow = shadowOf(part.element);
      if (part.shadow !== null) {
        this.#observe(part.shadow);
        this.#sensitive.observe(part.shadow);
      }
      const [generatedBefore, generatedAfter] = part.generated;
      if (generatedBefore !== undefined) kids.push(generatedBefore);
      const { owned, moved } = this.#references.claim(part);
      this.#stale.givenBack(moved);
      for (const node of [...childrenOf(part), ...owned]) {
        const type = nodeTypeOf(node);
        if (this.#references.isClaimed(node) && !owned.includes(node as Element)) continue;
        if (type === Node.TEXT_NODE) kids.push(node as Text);
        else if (type === Node.ELEMENT_NODE && !UNREAD.has(tagOf(node as Element))) {
          const known = this.#parts.get(node as Element);
          if (known?.live !== true && this.#live.size >= MAX_ELEMENTS) {
            part.left += 1 + (node as Element).getElementsByTagName('*').length;
            continue;
          }
          const kid = this.#part(node as Element, part);
          kids.push(kid);
        }
      }
      if (generatedAfter !== undefined) kids.push(generatedAfter);
    } else {
      this.#stale.givenBack(this.#references.release(part));
    }
    this.#left += part.left;
    part.kids = kids;
    const { repeats: repeated, pictured } = part;
    part.repeats = repeats(kids);
    part.pictured = isPictured(kids);
    if (part.repeats !== repeated || part.pictured !== pictured)
      for (const kid of kids) if (isPart(kid)) this.#stale.itself(kid);
    part.hasText = kids.some((kid) => !isPart(kid) && kid.data.trim() !== '');
    part.mayGrow = part.shadow === null && canGrow(part.tag);
    const now = new Set(kids);
    for (const kid of before) {
      if (isPart(kid) && kid.parent === part && !now.has(kid)) this.#detach(kid);
    }
    this.#lines.changed(part);
  }

  #isClosed(part: Part): boolean {
    if (CLOSED.has(part.tag) || (part.inert && part.shown === 'shown')) return true;
    if (isEditingHost(part.element)) return this.#sensitive.has(part.element as HTMLElement);
    return part.hushes && first(part.element, MAYBE_OPERABLE) === null;
  }

  /** Numbers what changed, and lists what is newer than a version. */
  *#answer(root: Part, since: number, answer: Look): Generator<void> {
    const version = ++this.#version;
    const look = ++this.#look;
    const from = since <= 0 || since >= version ? 0 : since;
    answer.since = from;
    answer.version = version;
    let steps = 0;
    const open: (Part | Segment)[] = [root];
    for (let item = open.pop(); item !== undefined; item = open.pop()) {
      if (item.look === look) continue; // an element has one place only
      const isNew = item.look !== look - 1;
      item.look = look;
      if (item.version === 0 || isNew) item.version = version;
      if (item.version > from) {
        answer.nodes.push(JSON.stringify(isPart(item) ? this.#node(item) : textNode(item)));
        if (++steps % 64 === 0) yield;
      }
      if (isPart(item))
        for (let i = item.flat.length - 1; i >= 0; i--) open.push(item.flat[i] as Part | Segment);
    }
    this.#lines.forget(look, 2 * this.#live.size + 1000);
  }

  #node(part: Part): AriaNode {
    const { role, name, description, value, states, keys, cut } = part.facts;
    return {
      i: part.id,
      r: role,
      ...(name !== '' && { n: name }),
      ...(description !== '' && { d: description }),
      ...(value !== undefined && { v: value }),
      ...(states.length > 0 && { s: states }),
      ...(keys !== '' && { k: keys }),
      ...(cut !== undefined && { x: cut }),
      ...(part.flat.length > 0 && { c: part.flat.map(({ id }) => id) }),
      ...(part.shape !== '' && { g: part.shape }),
      ...(part.shapeKeys.length > 0 && { gk: [...part.shapeKeys] }),
    };
  }
}

/** A drawing may say and hold anything; only where its author calls it a picture it is one. */
function isDrawing({ element, tag }: Part): boolean {
  return tag === 'svg' && !has(element, 'role');
}

/** Whether an element of a role has a line of its own where only the operable has. */
function isKeptInside(role: string): boolean {
  return INTERACTIVE.has(role) || role === 'generic' || role === 'iframe';
}

/** Lets the page do its own work; unlike a timer this is not slowed in tabs in the background. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
