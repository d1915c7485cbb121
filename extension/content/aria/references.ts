/** Which elements name, describe or own others: by `id`, or as a script set them (ARIA 1.3, reflection of element references). */
import { CodeEditor } from '../code-editor';
import { attribute, contains, has, isConnected, rootOf } from '../dom';
import type { Labels } from './labels';
import type { Part } from './part';

const NAMING = ['aria-labelledby', 'aria-labeledby', 'aria-describedby', 'aria-errormessage'];

/** The properties by which scripts set elements. The attribute is empty then. Chromium has none for aria-owns. */
const REFLECTED: Record<string, string> = {
  'aria-labelledby': 'ariaLabelledByElements',
  'aria-describedby': 'ariaDescribedByElements',
  'aria-errormessage': 'ariaErrorMessageElements',
};

/** Keeps who refers to whom, so that a change of the one finds the other. */
export class References {
  readonly #labels: Labels;
  /** Those whom an element names or describes. */
  readonly #named = new Map<Element, Set<Part>>();
  /** By what each is named or described. */
  readonly #naming = new Map<Part, Element[]>();
  /** Who claims an element as a child (`aria-owns`). */
  readonly #owner = new Map<Element, Part>();
  /** What each owner claims, in its order. */
  readonly #owned = new Map<Part, readonly Element[]>();

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  /** Whom an element names or describes. */
  namedBy(element: Element): Iterable<Part> {
    return this.#named.get(element) ?? [];
  }

  /** What names or describes a part. */
  naming(part: Part): readonly Element[] {
    return this.#naming.get(part) ?? [];
  }

  /** All that refer to others. */
  all(): Iterable<Part> {
    return new Set([...this.#naming.keys(), ...this.#owned.keys()]);
  }

  /** Those that wait for an id or refer to a removed element: re-read when nodes were added or removed. */
  *unsettled(): Iterable<Part> {
    for (const [part, by] of this.#naming) {
      if (part.waits || by.some((element) => !isConnected(element))) yield part;
    }
  }

  /** All that claim children from elsewhere. */
  owners(): Iterable<Part> {
    return this.#owned.keys();
  }

  /** Notes what names or describes a part. */
  note(part: Part): void {
    this.#forgetNaming(part);
    part.waits = false;
    const { element } = part;
    let by: Element[] | undefined;
    for (const name of NAMING) {
      if (!has(element, name)) continue;
      by ??= [];
      for (const [id, found] of byId(element, name)) {
        if (found !== null) by.push(found);
        else if (id !== '') part.waits = true;
      }
    }
    const labels = this.#labels.of(element);
    if (labels.length > 0) by = [...(by ?? []), ...labels];
    const editor = CodeEditor.of(element); // what it draws is the field's value
    if (editor !== undefined) by = [...(by ?? []), editor.root];
    if (by === undefined) return;
    this.#naming.set(part, by);
    for (const element of by) {
      const named = this.#named.get(element) ?? new Set();
      this.#named.set(element, named.add(part));
    }
  }

  /** Forgets a part; returns what it owned, which its own parents have again. */
  forget(part: Part): readonly Element[] {
    this.#forgetNaming(part);
    return this.release(part);
  }

  #forgetNaming(part: Part): void {
    for (const element of this.naming(part)) {
      const named = this.#named.get(element);
      named?.delete(part);
      if (named?.size === 0) this.#named.delete(element);
    }
    this.#naming.delete(part);
  }

  /** Has a part own nothing; returns what it did, which its own parents have again. */
  release(part: Part): readonly Element[] {
    const owned = this.#owned.get(part);
    if (owned === undefined) return [];
    for (const element of owned) this.#owner.delete(element);
    this.#owned.delete(part);
    return owned;
  }

  /**
   * Claims what a part's `aria-owns` names, but for what is another's or surrounds the part. Returns what it
   * owns now, and those elements that came to it or left it.
   */
  claim(part: Part): { owned: readonly Element[]; moved: readonly Element[] } {
    const before = this.release(part);
    if (!has(part.element, 'aria-owns')) return { owned: [], moved: before };
    const owned: Element[] = [];
    for (const [, found] of byId(part.element, 'aria-owns')) {
      if (found === null || this.#owner.has(found) || contains(found, part.element)) continue;
      let around = part.parent;
      while (around !== undefined && around.element !== found) around = around.parent;
      if (around !== undefined) continue;
      this.#owner.set(found, part);
      owned.push(found);
    }
    this.#owned.set(part, owned);
    const moved = [...before.filter((e) => !owned.includes(e)), ...owned.filter((e) => !before.includes(e))];
    return { owned, moved };
  }

  /** True for an element that another one claims as a child. */
  isClaimed(node: Node): boolean {
    return this.#owner.size > 0 && this.#owner.has(node as Element);
  }
}

/** The ids that an attribute lists, each with its element, and the elements without ids that a script set. */
function* byId(element: Element, name: string): Iterable<[id: string, found: Element | null]> {
  const ids = attribute(element, name);
  const set: unknown = ids === '' ? Reflect.get(element, REFLECTED[name] ?? '') : undefined;
  if (Array.isArray(set)) for (const found of set as readonly Element[]) yield ['', found];
  const root = rootOf(element) as Document | ShadowRoot;
  for (const id of ids.split(/\s+/)) {
    yield [id, id === '' ? null : root.getElementById(id)];
  }
}
