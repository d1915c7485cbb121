/**
 * What changes without a mutation, and is asked of the browser: style sheets show and hide, write text around
 * what they style and take it back; scripts set the values of fields, and attach shadow roots.
 */
import { parentOf, shadowRootOf } from '../dom';
import { traceless } from './element';
import { isPart, type Part, shownAs } from './part';
import {
  generatedText,
  hidesContent,
  isBlock,
  isPlainlyShown,
  isPointed,
  isUnhit,
  PSEUDOS,
  shadowOf,
} from './rendering';

/**
 * How many elements are asked in one look whether they have got a closed shadow root, which takes 2 µs
 * each; all others follow in the looks after it.
 */
const MOST_ASKED = 250;

/** How many are asked ahead of a look how they are styled, in turn too; it takes 5 µs each. */
const MOST_STYLED = 200;

/** How many elements are asked between two looks at the clock. */
const AT_ONCE = 64;

/** Among how many of its children a part looks for one that is asked in its place. */
const MOST_WITNESSES = 8;

/** Finds changes in parts without a mutation. */
export class Unannounced {
  readonly controls = new Set<Part>();
  /** Those into which style sheets write text. */
  readonly generating = new Set<Part>();
  /** Those that changed in a way that style sheets may mind, for all that is inside them. */
  readonly restyled = new Set<Part>();
  readonly #changed: (part: Part, whole: boolean) => void;
  /** Those that are asked whether they are still shown as a whole, and all that are not. */
  readonly #shown = new Roster();
  readonly #hidden = new Roster();
  /** Those that may get a shadow root. */
  readonly #growing = new Roster();
  /** Those into which style sheets may write text yet, or whose cursor and place in the line they may change. */
  readonly #styled = new Roster();
  /** Who was asked last for a closed one, and how it is styled: it goes round and round. */
  #asked = 0;
  #askedStyle = 0;
  /** Those that were read since it was decided what they are asked. */
  readonly #undecided = new Set<Part>();

  /** Changed is called for each part that is no longer as it was; whole where what stands in it may be other. */
  constructor(changed: (part: Part, whole: boolean) => void) {
    this.#changed = changed;
  }

  /** Takes in that a part was read, or has gone. */
  renewed(part: Part): void {
    this.#undecided.add(part);
    if (part.parent?.witness === part) this.#undecided.add(part.parent);
  }

  forget(part: Part): void {
    this.controls.delete(part);
    this.generating.delete(part);
    this.#undecided.add(part);
  }

  /** Decides what those that were read are asked from now on. */
  *decide(): Generator<void> {
    let steps = 0;
    for (const part of this.#undecided) {
      this.#undecided.delete(part);
      const { live, shown, asked, facts, mayGrow } = part;
      this.#shown.set(
        part,
        live && shown === 'shown' && (asked || (facts.role !== '' && !isWitnessed(part))),
      );
      this.#hidden.set(part, live && shown !== 'shown');
      this.#growing.set(part, live && shown !== 'hidden' && mayGrow);
      this.#styled.set(part, live && shown === 'shown');
      if (++steps % 64 === 0) yield;
    }
  }

  /** Asks fields for what they hold. */
  *fields(): Generator<void> {
    let steps = 0;
    for (const part of this.controls) {
      if (!part.staleSelf && traceless(part.element, part.tag) !== part.traceless) this.#changed(part, false);
      if (++steps % 64 === 0) yield;
    }
  }

  /** Asks those that were not shown whether they are now. */
  *hidden(): Generator<void> {
    let steps = 0;
    yield* this.decide();
    for (const part of this.#hidden.parts) {
      this.#check(part);
      if (++steps % 64 === 0) yield;
    }
  }

  /** Asks all others whether they are shown as they were. */
  *shown(): Generator<void> {
    let steps = 0;
    for (let i = 0; i < this.#shown.elements.length; i += AT_ONCE, yield) this.#askShown(i, i + AT_ONCE);
    for (const part of this.generating) {
      this.#checkStyle(part);
      if (++steps % 64 === 0) yield;
    }
  }

  /** Asks what stands in those that changed so far how it is styled. */
  *restyledInside(): Generator<void> {
    let steps = 0;
    const restyled = new Set(this.restyled);
    this.restyled.clear();
    for (const outer of restyled) {
      if (standsIn(outer, restyled)) continue; // and is asked there
      const open = [outer];
      for (let part = open.pop(); part !== undefined; part = open.pop()) {
        this.#checkStyle(part, true);
        for (const kid of part.kids) if (isPart(kid)) open.push(kid);
        if (++steps % 64 === 0) yield;
      }
    }
  }

  /** Asks how elements are styled, all or some in turn; those that have just been read are not among them. */
  *styled(all: boolean): Generator<void> {
    const { parts } = this.#styled;
    const most = all ? parts.length : Math.min(MOST_STYLED, parts.length);
    for (let asked = 0; asked < most; asked++) {
      this.#askedStyle = (this.#askedStyle + 1) % parts.length;
      const part = parts[this.#askedStyle] as Part;
      if (!part.staleSelf) this.#checkStyle(part);
      if (asked % 16 === 0) yield;
    }
  }

  /** Asks who has got a shadow root: an open one all, a closed one all or some in turn. */
  *grown(all: boolean): Generator<void> {
    for (let i = 0; i < this.#growing.elements.length; i += AT_ONCE, yield) this.#askGrowing(i, i + AT_ONCE);
    yield* this.#closed(all);
  }

  /** Asks some of those that are shown: a plain loop, which soon runs as fast as it can. */
  #askShown(from: number, to: number): void {
    const { parts, elements } = this.#shown;
    for (let i = from; i < to && i < elements.length; i++) {
      // Whether it is hidden from those who hear the page is an attribute; a change of that is not missed.
      if (!isPlainlyShown(elements[i] as Element)) this.#check(parts[i] as Part);
    }
  }

  /** Sees which of some have got an open shadow root. */
  #askGrowing(from: number, to: number): void {
    const { parts, elements } = this.#growing;
    for (let i = from; i < to && i < elements.length; i++) {
      if (shadowRootOf(elements[i] as Element) !== null) this.#changed(parts[i] as Part, true);
    }
  }

  /** Sees who has got a closed shadow root, which leaves no trace: of many elements some in each look. */
  *#closed(all: boolean): Generator<void> {
    const { parts } = this.#growing;
    const most = all ? parts.length : Math.min(MOST_ASKED, parts.length);
    for (let asked = 0; asked < most; asked++) {
      this.#asked = (this.#asked + 1) % parts.length;
      const part = parts[this.#asked] as Part;
      if (shadowOf(part.element) !== null) this.#changed(part, true);
      if (asked % 16 === 0) yield;
    }
  }

  /** Has what changed in how a part is shown read anew; those around it may have been asked through it alone. */
  #check(part: Part): void {
    for (let at: Part | undefined = part; at !== undefined && shownAs(at) !== at.shown; at = at.parent) {
      this.#changed(at, true);
    }
  }

  /** Sees whether style sheets still treat an element as they did, and write the same text around what it contains. */
  #checkStyle(part: Part, withAllInside = false): void {
    if (part.shown !== 'shown' || !part.live) return;
    const style = getComputedStyle(part.element);
    // Its content, which is checked instead, may be visible although it is not.
    if (style.visibility !== 'visible') this.#check(part);
    const unhit = isUnhit(style);
    const isRehit = unhit !== part.unhit;
    if (withAllInside) part.unhit = unhit; // read later, it does not have them asked again
    if (
      isRehit ||
      isBlock(part.tag, style) !== part.block ||
      isPointed(style) !== part.pointer ||
      ((part.contentHidden || part.hasText) &&
        hidesContent(part.element, part.tag, style) !== part.contentHidden)
    ) {
      this.#changed(part, false);
      return;
    }
    for (const [at, pseudo] of PSEUDOS) {
      if (generatedText(part.element, pseudo) === (part.generated[at]?.data ?? '')) continue;
      this.#changed(part, false);
      return;
    }
  }
}

/** A set of parts with the element of each beside it: many elements are gone through much faster than many parts. */
class Roster {
  readonly parts: Part[] = [];
  readonly elements: Element[] = [];
  readonly #places = new Map<Part, number>();

  /** Takes a part in or out; the last one gets the place of one that leaves. */
  set(part: Part, isIn: boolean): void {
    const place = this.#places.get(part);
    if ((place !== undefined) === isIn) return;
    if (place === undefined) {
      this.#places.set(part, this.parts.length);
      this.parts.push(part);
      this.elements.push(part.element);
      return;
    }
    this.#places.delete(part);
    const last = this.parts.pop() as Part;
    const element = this.elements.pop() as Element;
    if (last === part) return;
    this.parts[place] = last;
    this.elements[place] = element;
    this.#places.set(last, place);
  }
}

function standsIn(part: Part, others: ReadonlySet<Part>): boolean {
  for (let at = part.parent; at !== undefined; at = at.parent) if (others.has(at)) return true;
  return false;
}

/**
 * Whether something that stands in a part is asked in its place: a part that can neither be operated nor has
 * a text of its own is there for what it holds, and is hidden with it.
 */
function isWitnessed(part: Part): boolean {
  if (isWitness(part.witness, part)) return true;
  part.witness = undefined;
  for (let i = 0; i < part.kids.length && i < MOST_WITNESSES; i++) {
    const kid = part.kids[i] as Part | Text;
    if (!isPart(kid) || !isWitness(kid, part) || parentOf(kid.element) !== part.element) continue;
    part.witness = kid;
    return true;
  }
  return false;
}

function isWitness(kid: Part | undefined, part: Part): boolean {
  return kid?.asked === true && kid.live && kid.parent === part && kid.shown === 'shown';
}
