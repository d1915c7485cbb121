/**
 * What changes without a mutation, and is asked of the browser at each look: style sheets show and hide, write
 * text around what they style and take it back; scripts set the values of fields, and attach shadow roots.
 */
import { parentOf, shadowRootOf } from '../dom';
import { traceless } from './element';
import { isPart, type Part, shadowOf, shownAs } from './part';
import { generatedText, isMute, isPlainlyShown, PSEUDOS } from './rendering';

/**
 * How many elements are asked in one look whether they have got a closed shadow root, which takes 2 µs
 * each; all others follow in the looks after it.
 */
const MOST_ASKED = 500;

/** Among how many of its children a part looks for one that is asked in its place. */
const MOST_WITNESSES = 8;

/** Finds what has changed in parts that no mutation told of. */
export class Unannounced {
  readonly controls = new Set<Part>();
  /** Those into which style sheets write text. */
  readonly generating = new Set<Part>();
  /** Those that changed in a way that style sheets may mind, for all that is inside them. */
  readonly restyled = new Set<Part>();
  readonly #changed: (part: Part, whole: boolean) => void;
  /** Goes round and round. */
  #asking: Iterator<Part> | undefined;

  /** Changed is called for each part that is no longer as it was; whole where what stands in it may be other. */
  constructor(changed: (part: Part, whole: boolean) => void) {
    this.#changed = changed;
  }

  forget(part: Part): void {
    this.controls.delete(part);
    this.generating.delete(part);
  }

  /** Asks about all that live, as a whole about what is asked of some in turn else. */
  *look(live: ReadonlySet<Part>, whole: boolean): Generator<void> {
    let steps = 0;
    for (const part of live) {
      if (part.asked || part.shown !== 'shown' || (part.facts.role !== '' && !isWitnessed(part)))
        this.#check(part);
      if (part.mayGrow && shadowRootOf(part.element) !== null) this.#changed(part, true);
      if (++steps % 64 === 0) yield;
    }
    yield* this.#growing(live, whole);
    for (const part of this.controls) {
      if (!part.staleSelf && traceless(part.element, part.tag) !== part.traceless) this.#changed(part, false);
      if (++steps % 64 === 0) yield;
    }
    for (const part of this.generating) {
      this.#checkGenerated(part);
      if (++steps % 64 === 0) yield;
    }
    for (const restyled of this.restyled) {
      this.restyled.delete(restyled);
      const open = [restyled];
      for (let part = open.pop(); part !== undefined; part = open.pop()) {
        this.#checkGenerated(part);
        for (const kid of part.kids) if (isPart(kid)) open.push(kid);
        if (++steps % 64 === 0) yield;
      }
    }
  }

  /** Sees who has got a closed shadow root, which leaves no trace: of many elements some in each look. */
  *#growing(live: ReadonlySet<Part>, whole: boolean): Generator<void> {
    const most = whole ? live.size : MOST_ASKED;
    for (let asked = 0, seen = 0; asked < most && seen < live.size; seen++) {
      const part: Part | undefined = this.#asking?.next().value;
      if (part === undefined) {
        this.#asking = live.values();
        continue;
      }
      if (!part.mayGrow || part.shown === 'hidden') continue;
      if (shadowOf(part.element) !== null) this.#changed(part, true);
      if (++asked % 16 === 0) yield;
    }
  }

  /** Has the browser say whether an element is still shown as it was, and open to what is inside it. */
  #check(part: Part): void {
    // Whether it is hidden from those who hear the page is an attribute; a change of that is not missed.
    if (part.shown === 'shown' && isPlainlyShown(part.element)) return;
    // Those around it may have been asked through it alone.
    for (let at: Part | undefined = part; at !== undefined && shownAs(at) !== at.shown; at = at.parent) {
      this.#changed(at, true);
    }
  }

  /** Sees whether style sheets still write the same text around what an element contains. */
  #checkGenerated(part: Part): void {
    if (part.shown !== 'shown') return;
    if (
      (part.mute || part.hasText) &&
      isMute(part.element, part.tag, getComputedStyle(part.element)) !== part.mute
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
