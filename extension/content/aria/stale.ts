/** Which parts of the tree must be re-read, because of mutations and of references between elements. */
import { all, has, nodeTypeOf, parentAcrossRoots, parentOf, tagOf } from '../dom';
import { isNamedByContent } from './element';
import { statedRows } from './hints';
import { mayBeItem, twinOf } from './items';
import type { Lines } from './lines';
import { isPart, type Part } from './part';
import type { References } from './references';
import type { Unannounced } from './unannounced';

/** What decides for all that it surrounds: a fieldset's `disabled`, a table's role. */
const REACHING = new Set('disabled aria-disabled role open inert'.split(' '));

/** What has to be known of the tree. */
export interface Needed {
  partOf(element: Element): Part | undefined;
  /** Whether nothing in a part is read. */
  isClosed(part: Part): boolean;
  lines: Lines;
  unannounced: Unannounced;
  references: References;
}

/** The parts that have to be read: themselves (`staleSelf`), what they hold (`staleKids`), or both. */
export class Stale extends Set<Part> {
  /** How many mutations there were so far. */
  mutations = 0;
  readonly #of: Needed;

  constructor(of: Needed) {
    super();
    this.#of = of;
  }

  /** Has an element read, for what changed in it without a mutation. */
  touched(element: Element): void {
    const part = this.#of.partOf(element);
    if (part?.live !== true) return;
    part.staleSelf = true;
    this.add(part);
  }

  /** Takes in mutations. */
  mutated(records: readonly MutationRecord[]): void {
    this.mutations += records.length;
    let moved = false;
    for (const { target, type, attributeName, addedNodes, removedNodes } of records) {
      const element = type === 'characterData' ? target.parentElement : target;
      if (element === null) continue;
      const part = this.#partOf(element);
      if (part?.live !== true) {
        this.#mutatedInside(element as Element, attributeName);
        continue;
      }
      if (type === 'attributes') {
        part.staleSelf = true;
        const isData = attributeName?.startsWith('data-') === true;
        if ((isData || attributeName === 'id') && part.facts.role === '') this.#of.lines.renamed(part);
        if (isData || attributeName === 'class') this.#of.unannounced.restyled.add(part);
        if (attributeName === 'slot' || attributeName === 'aria-owns') part.staleKids = true;
        if (attributeName === 'id' || attributeName === 'for' || attributeName === 'role') {
          this.#referringAll();
          if (part.tag === 'label') this.#field(part.element);
        }
        if (attributeName !== null && REACHING.has(attributeName)) this.below(part);
      } else if (type === 'childList') {
        part.staleKids = true;
        if (hasElement(addedNodes) || hasElement(removedNodes)) {
          moved = true;
          this.#itemsAbove(part);
        }
        this.#newLabels(addedNodes);
        if (part.tag === 'select' || part.tag === 'optgroup') part.staleSelf = true;
        if (part.tag === 'details') this.#summaries(part);
      } else {
        part.hasText = true; // or may have
        this.#of.lines.changed(part);
      }
      if (type !== 'attributes' && part.shadow !== null) this.#slots(part.shadow);
      if (type !== 'attributes' && !part.asked) part.staleSelf = true; // it may be hidden by now
      this.add(part);
      this.namesAbove(part);
    }
    if (moved) this.#referencesMoved();
  }

  /** The part of an element, or of the host of a shadow root. */
  #partOf(node: Node): Part | undefined {
    if (nodeTypeOf(node) === Node.DOCUMENT_FRAGMENT_NODE && 'host' in node) {
      return this.#of.partOf((node as ShadowRoot).host);
    }
    return this.#of.partOf(node as Element);
  }

  /** An element without a part of its own has changed. It may give an ancestor its name or value. */
  #mutatedInside(element: Element, attributeName: string | null): void {
    let around: Part | undefined;
    for (let at = parentOf(element); at !== null && around?.live !== true; at = parentOf(at))
      around = this.#of.partOf(at);
    if (around?.live !== true) return;
    this.namesAbove(around);
    if (tagOf(element) === 'title') this.itself(around);
    const opens = around.inert && attributeName === 'open';
    if (around.shown === 'hidden' && !opens) return;
    if (!opens && around.tag !== 'svg' && !this.#of.isClosed(around)) return;
    around.staleSelf = around.staleKids = true;
    this.add(around);
  }

  /** Re-reads everything inside a part. */
  below(part: Part): void {
    for (const kid of part.kids) {
      if (!isPart(kid)) continue;
      kid.staleSelf = true;
      this.add(kid);
      this.below(kid);
    }
  }

  /** Re-reads the blocks that are items of a list only as long as nothing in them can be operated. */
  #itemsAbove(from: Part): void {
    for (let part: Part | undefined = from; part !== undefined; part = part.parent) {
      if (!mayBeItem(part)) continue;
      this.itself(part);
      const twin = twinOf(part);
      if (twin !== undefined) this.itself(twin);
    }
  }

  /** Re-reads the names that depend on the surroundings of this part. */
  namesAbove(from: Part | undefined): void {
    for (let part = from; part !== undefined; part = part.parent) {
      if (
        isNamedByContent(part.facts.role) ||
        part.tag === 'fieldset' ||
        part.tag === 'figure' ||
        part.tag === 'table' ||
        part.tag === 'svg' ||
        statedRows(part) > 0 || // and whether all are drawn
        has(part.element, 'title') || // after which only what has no name in its contents is called
        part.facts.value !== undefined
      ) {
        part.staleSelf = true;
        this.add(part);
      }
      for (const other of this.#of.references.namedBy(part.element)) this.itself(other);
    }
  }

  /** Has a part read itself, without what it holds. */
  itself(part: Part): void {
    if (!part.live) return;
    part.staleSelf = true;
    this.add(part);
  }

  /** Which summary opens details depends on the others; without any, the browser draws one. */
  #summaries(details: Part): void {
    this.itself(details);
    for (const kid of details.kids) if (isPart(kid) && kid.tag === 'summary') this.itself(kid);
  }

  /** What stands in a host is shown where the slots of its shadow root are, and names what is around them. */
  #slots(shadow: ShadowRoot): void {
    for (const slot of all(shadow, 'slot')) this.slotted(slot);
  }

  /** Has a slot list what is assigned to it. */
  slotted(slot: Element): void {
    const part = this.#of.partOf(slot);
    if (part?.live !== true) return;
    this.#newKids(part);
    this.namesAbove(part);
  }

  #newKids(part: Part | undefined): void {
    if (part?.live !== true) return;
    part.staleKids = true;
    this.add(part);
  }

  /** Has those in whom elements stand list them, or list them no more, since somebody claims them or did. */
  givenBack(elements: readonly Element[]): void {
    for (const element of elements) {
      this.touched(element); // what it is depends on whose it is
      const parent = parentAcrossRoots(element);
      if (parent !== null) this.#newKids(this.#of.partOf(parent));
    }
  }

  #referringAll(): void {
    for (const part of this.#of.references.all()) this.itself(part);
    for (const part of this.#of.references.owners()) this.#newKids(part);
  }

  /** Fields whose labels have just come. */
  #newLabels(added: NodeList): void {
    for (const node of added) {
      if (nodeTypeOf(node) !== Node.ELEMENT_NODE) continue;
      const labels = tagOf(node as Element) === 'label' ? [node as Element] : all(node, 'label');
      for (const label of labels) this.#field(label);
    }
  }

  /** Re-reads the name of a label's field. */
  #field(label: Element): void {
    const { control } = label as HTMLLabelElement;
    const part = control == null ? undefined : this.#of.partOf(control);
    if (part !== undefined) this.itself(part);
  }

  /** Removed nodes may have named others; new ones may be what an id was waiting for. */
  #referencesMoved(): void {
    for (const part of this.#of.references.unsettled()) this.itself(part);
    for (const part of this.#of.references.owners()) this.#newKids(part);
  }

  /** Has a label read whose field is shown, or no longer shown: it stands for one that is not. */
  relabelled(label: Part | undefined): void {
    if (label?.tag !== 'label') return;
    this.itself(label);
    this.#of.lines.changedThroughout(label);
  }
}

function hasElement(nodes: NodeList): boolean {
  for (const node of nodes) if (nodeTypeOf(node) === Node.ELEMENT_NODE) return true;
  return false;
}
