/** What has a line in the tree, and the runs of text in between: which of them stand in an element. */
import { hasChildElements } from '../dom';
import { fold, isNamedByContent, keysOf, shorten } from './element';
import { mark, markOf, type Words } from './marks';
import { type Edge, type Gathered, isOnlyText, isPart, labelAround, type Part, type Segment } from './part';

/** How many blocks without a line are gathered one inside the other; deeper ones are gone through in turn. */
const MAX_DEPTH = 500;

const NOTHING: Words = { shown: '', named: '' };

/** Lists the children that elements have in the accessibility tree. */
export class Lines {
  readonly #partOf: (element: Element) => Part | undefined;
  readonly #idOf: (node: Node) => number;
  readonly #segments = new Map<number, Segment>();
  /** Those whose lists are stale: parts with a line, and blocks without. */
  readonly #stale = new Set<Part>();

  constructor(partOf: (element: Element) => Part | undefined, idOf: (node: Node) => number) {
    this.#partOf = partOf;
    this.#idOf = idOf;
  }

  /** A part's content or its layout has changed. */
  changed(inside: Part | undefined): void {
    const holder = holderFrom(inside);
    if (holder === undefined) return;
    this.#again(holder);
    // What such a line says already is left out of what stands in it: that depends on the texts themselves.
    const around = lineFrom(holder);
    if (around !== undefined && isNamedByContent(around.facts.role)) this.#again(around);
  }

  /** Which of all elements inside a part have a line has changed. */
  changedThroughout(part: Part | undefined): void {
    if (part?.live !== true) return;
    for (const kid of part.kids) if (isPart(kid)) this.changedThroughout(kid);
    this.changed(part);
  }

  /** The page's name for a block has changed. */
  renamed(block: Part): void {
    const around = lineFrom(block.parent);
    if (around !== undefined) this.#again(around);
  }

  /**
   * Lists the children that parts have in the accessibility tree, where that is stale: through what has no
   * line of its own. Marks those as changed that have others than before.
   */
  *settle(fresh: Part[]): Generator<void> {
    let steps = 0;
    // What is new from the inside out, so that none of it is much at once.
    for (let part = fresh.pop(); part !== undefined; part = fresh.pop()) {
      if (part.live && isBlock(part)) this.#gathered(part, labelAround(part), 0);
      if (++steps % 32 === 0) yield;
    }
    for (const part of this.#stale) {
      this.#stale.delete(part);
      if (part.live && part.unlisted) this.#renew(part);
      if (++steps % 32 === 0) yield;
    }
  }

  #again(part: Part): void {
    part.unlisted = true;
    // Last, so that its content is known before.
    this.#stale.delete(part);
    this.#stale.add(part);
  }

  /** Lists anew what stands in a part; what is around it minds only where that is something else. */
  #renew(part: Part): void {
    if (part.facts.role !== '') {
      part.unlisted = false;
      if (this.#list(part)) part.version = 0;
      return;
    }
    const before = part.gathered;
    const now = this.#gathered(part, labelAround(part), 0);
    if (before !== undefined && isSame(before, now)) return;
    const around = holderFrom(part.parent);
    if (around !== undefined) this.#again(around);
  }

  /** Returns whether the children of a part are others than before. */
  #list(part: Part): boolean {
    const { flat, shape, keys } = divided(tidy(part, this.#gather(part, undefined, 0)));
    const same =
      flat.length === part.flat.length &&
      flat.every(({ id }, i) => id === part.flat[i]?.id) &&
      shape === part.shape &&
      keys.join('\n') === part.shapeKeys.join('\n');
    part.flat = flat;
    part.shape = shape;
    part.shapeKeys = keys;
    return !same;
  }

  /** What stands in a block without a line, which is kept. */
  #gathered(block: Part, label: Part | undefined, depth: number): Gathered[] {
    if (block.gathered === undefined || block.unlisted) {
      block.unlisted = false;
      block.gathered = this.#gather(block, label, depth);
    }
    return block.gathered;
  }

  /** Drops runs of text that a look did not find, when there are more than a number. */
  forget(look: number, most: number): void {
    if (this.#segments.size <= most) return;
    for (const [id, segment] of this.#segments) if (segment.look !== look) this.#segments.delete(id);
  }

  /**
   * What stands in a part: those that have a line, and runs of text. What a block without a line holds is
   * kept, because its text never runs together with what is around it.
   */
  #gather(part: Part, labelAbove: Part | undefined, depth: number): Gathered[] {
    const items: Gathered[] = [];
    let text: Words = { shown: '', named: '' };
    let first: Text | undefined;
    let from: { part: Part; label: Part | undefined } | undefined;
    // Of each part without a line inside one another: it, the place in its list, the label that it is in, and of
    // one that marks its words the mark and the text before them.
    const stack: { part: Part; at: number; label: Part | undefined; marks?: string; before?: Words }[] = [
      { part, at: 0, label: part.tag === 'label' ? part : labelAbove },
    ];
    const end = (): void => {
      for (let i = stack.length - 1; i >= 0; i--) {
        const { marks, before } = stack[i] as (typeof stack)[number];
        if (marks !== undefined && before !== undefined) mark(marks, text, before);
      }
      const shown = first === undefined ? '' : fold(text.shown);
      const named = text.named === text.shown ? shown : fold(text.named);
      if (
        first !== undefined &&
        from !== undefined &&
        shown !== '' &&
        !this.#namesItsField(from.label, named)
      ) {
        items.push(this.#segment(shown, named, first, from.part));
      }
      text = { shown: '', named: '' };
      first = undefined;
      for (const around of stack) if (around.before !== undefined) around.before = NOTHING;
    };
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const kid = top.part.kids[top.at++];
      if (kid === undefined) {
        stack.pop();
        if (top.marks !== undefined && top.before !== undefined) mark(top.marks, text, top.before);
        if (top.part.block) end();
      } else if (!isPart(kid)) {
        if (top.part.shown !== 'shown' || top.part.contentHidden) continue;
        if (first === undefined && kid.data.trim() !== '') {
          first = kid;
          from = top;
        }
        text.shown += kid.data;
        text.named += kid.data;
      } else if (kid.shown === 'hidden') {
        // nothing of it
      } else if (kid.facts.role !== '') {
        end();
        items.push(kid);
      } else if (kid.block && depth < MAX_DEPTH) {
        end();
        const inside = this.#gathered(kid, top.label, depth + 1);
        if (inside.length === 0) continue;
        items.push({ opens: kid });
        for (const item of inside) items.push(item);
        items.push('closes');
      } else {
        if (kid.block) end();
        const label = kid.tag === 'label' ? kid : top.label;
        const marks = kid.block ? '' : markOf(kid.element, kid.tag);
        stack.push({ part: kid, at: 0, label, ...(marks !== '' && { marks, before: { ...text } }) });
      }
    }
    end();
    return items;
  }

  /** True for the text of a label that its field is named by already. */
  #namesItsField(label: Part | undefined, text: string): boolean {
    const control = (label?.element as HTMLLabelElement | undefined)?.control;
    return control != null && this.#partOf(control)?.facts.name.includes(text) === true;
  }

  /**
   * A run of text that begins with a node, in a part. Where it is the only one of that part the part
   * decides which run it is, because scripts set an element's text by replacing the node.
   */
  #segment(text: string, named: string, node: Text, part: Part): Segment {
    let id: number;
    if (isOnlyText(part)) id = part.textId ??= this.#idOf(node);
    else id = this.#idOf(node);
    const cut: number[] = [];
    const short = shorten(text, cut, 0);
    const [length = 0, hash = 0] = cut;
    let segment = this.#segments.get(id);
    if (segment === undefined) {
      segment = { id, text: short, named, cut: undefined, version: 0, look: 0 };
      this.#segments.set(id, segment);
    }
    if (segment.text !== short || segment.cut?.[1] !== cut[1]) segment.version = 0;
    segment.text = short;
    segment.named = named;
    segment.cut = length > 0 ? [length, hash, 0, 0] : undefined;
    return segment;
  }
}

/** Whether a part has no line, and a list of its own: its text never runs together with what is around it. */
function isBlock({ facts, block, shown }: Part): boolean {
  return facts.role === '' && block && shown !== 'hidden';
}

/** The nearest part with a list of its own: the part or an ancestor. */
function holderFrom(part: Part | undefined): Part | undefined {
  let at = part;
  while (at !== undefined && at.facts.role === '' && !at.block) at = at.parent;
  return at;
}

/** The nearest part with a line: the part or an ancestor. */
function lineFrom(part: Part | undefined): Part | undefined {
  let at = part;
  while (at !== undefined && at.facts.role === '') at = at.parent;
  return at;
}

function isSame(a: readonly Gathered[], b: readonly Gathered[]): boolean {
  return (
    a.length === b.length && a.every((item, i) => item === b[i] || opened(item) === (opened(b[i]) ?? item))
  );
}

/** The block that begins at an edge. */
function opened(item: Gathered | undefined): Part | undefined {
  return item !== undefined && item !== 'closes' && 'opens' in item ? item.opens : undefined;
}

/** Leaves out what the part's own line says already. */
function tidy(part: Part, items: Gathered[]): Gathered[] {
  const { role, value } = part.facts;
  if (part.hushes) return items.filter((item) => isEdge(item) || isPart(item));
  if (value !== undefined && role !== 'listbox' && role !== 'combobox') return [];
  const name = role === 'combobox' ? (value ?? '') : isNamedByContent(role) ? part.facts.name : '';
  if (name === '') return items;
  return items.filter((item) => {
    if (isEdge(item)) return true;
    if (isPart(item)) return !(isPicture(item) && name.includes(item.facts.name));
    return !name.includes(item.named);
  });
}

/** Whether a part is a picture, or an icon that is an element with a name. */
function isPicture({ facts, element }: Part): boolean {
  return facts.role === 'img' || (facts.role === 'group' && !hasChildElements(element));
}

function isEdge(item: Gathered): item is Edge {
  return item === 'closes' || 'opens' in item;
}

/**
 * Tells what stands in a list from the blocks that divide it. A block is told when it holds more than one
 * thing, or the page has a name for it: the host finds rows again by them that were made anew.
 */
function divided(items: readonly Gathered[]): { flat: (Part | Segment)[]; shape: string; keys: string[] } {
  const flat: (Part | Segment)[] = [];
  const signs: string[] = [];
  const keys: string[] = [];
  const open: { sign: number; key: number; first: number }[] = [];
  for (const item of items) {
    if (!isEdge(item)) {
      flat.push(item);
      signs.push('.');
    } else if (item !== 'closes') {
      open.push({ sign: signs.length, key: keys.length, first: flat.length });
      signs.push('(');
      keys.push(keysOf(item.opens.element, item.opens.tag));
    } else {
      const { sign, key, first } = open.pop() as (typeof open)[number];
      const holds = flat.length - first;
      if (holds > 1 || (holds === 1 && keys[key] !== '')) {
        signs.push(')');
      } else {
        signs.splice(sign, 1);
        keys.splice(key, 1);
      }
    }
  }
  const shape = keys.length === 0 ? '' : signs.join('').replace(/\.+/g, ({ length }) => String(length));
  return { flat, shape, keys: keys.some((key) => key !== '') ? keys : [] };
}
