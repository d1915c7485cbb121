/**
 * What may change how a page is shown, as far as the page gives a sign of it. While no sign has come since
 * all elements were asked how they are shown, they need not be asked again.
 */

import { isConnected, nodeTypeOf, tagOf } from './dom';

/** After which an element may match other rules, or a rule may hold that did not. */
const EVENTS = 'pointerdown pointerup keydown keyup click input fullscreenchange'.split(' ');
/** Those of which only the shadow root hears in which they are, or in which the focus or the pointer moves. */
const ENCLOSED = (
  'focusin focusout pointerover pointerout change invalid reset toggle beforetoggle load scroll ' +
  'transitionrun transitionend transitioncancel animationstart animationend animationcancel'
).split(' ');

/** Settings of the user, or emulated by a tool. */
const MEDIA = ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', 'print'];

/** At the end of what is known of a document or shadow root with animations. */
const MOVES = ' moves';

/** Into how many shadow roots one look looks, some 10 µs each. The others have their turn, or a second passes before. */
const MOST_ROOTS = 100;

/** Counts signs. */
export class Signals {
  /** How many there were so far. */
  count = 0;
  readonly #document: Document;
  /** The shadow roots in it, each with how it was when it was looked into last; whose turn is next comes first. */
  readonly #roots = new Map<ShadowRoot, string>();
  readonly #media = MEDIA.map((query) => matchMedia(query));
  readonly #came: () => void;
  /** How the window and the document were when they were looked at last. */
  #around = '';
  /** Each sheet's number: another one may take its place. */
  readonly #sheets = new WeakMap<CSSStyleSheet, number>();
  #lastSheet = 0;
  /** Those that may not be read, because of their origin: the page may not change them either. */
  readonly #foreign = new WeakSet<CSSStyleSheet>();

  /** Came is called for each sign. */
  constructor(document: Document, came: () => void) {
    this.#document = document;
    this.#came = came;
    // Not at the window, which gets no load events of elements.
    for (const type of [...EVENTS, ...ENCLOSED])
      document.addEventListener(type, this.came, { capture: true, passive: true });
  }

  readonly came = (): void => {
    this.count++;
    this.#came();
  };

  /** Takes in mutations. */
  mutated(records: readonly MutationRecord[]): void {
    if (!records.every(isOtherText)) this.came();
  }

  /** Takes in a shadow root, be it for the first time or again. */
  observe(root: ShadowRoot): void {
    if (this.#roots.has(root)) return;
    this.#roots.set(root, this.#within(root));
    for (const type of ENCLOSED) root.addEventListener(type, this.came, { capture: true, passive: true });
  }

  /** Looks at what gives a sign only when it is looked at: the window, animations, and the style sheets. */
  look(): void {
    const media = this.#media.map(({ matches }) => matches);
    const around = [
      innerWidth,
      innerHeight,
      devicePixelRatio,
      location.href,
      ...media,
      this.#within(this.#document),
    ].join(' ');
    let differs = around !== this.#around || around.endsWith(MOVES);
    this.#around = around;
    let left = Math.min(this.#roots.size, MOST_ROOTS);
    for (const [root, was] of this.#roots) {
      if (left-- === 0) break;
      this.#roots.delete(root);
      if (!isConnected(root)) continue;
      const now = this.#within(root);
      this.#roots.set(root, now);
      if (now !== was || now.endsWith(MOVES)) differs = true;
    }
    if (differs) this.came();
  }

  /** The style sheets of a document or shadow root, and whether anything in it moves. */
  #within(root: Document | ShadowRoot): string {
    const within: string[] = [];
    for (const sheet of root.styleSheets) within.push(this.#sheet(sheet));
    for (const sheet of root.adoptedStyleSheets) within.push(this.#sheet(sheet));
    within.push(root.getAnimations().length > 0 ? MOVES : ''); // what an animation shows is hidden once it has gone
    return within.join(' ');
  }

  #sheet(sheet: CSSStyleSheet): string {
    if (sheet.disabled) return 'disabled';
    const which = this.#sheets.get(sheet) ?? ++this.#lastSheet;
    this.#sheets.set(sheet, which);
    if (this.#foreign.has(sheet)) return `${which}`;
    try {
      return `${which} ${sheet.media.mediaText} ${sheet.cssRules.length}`;
    } catch {
      this.#foreign.add(sheet);
      return `${which}`;
    }
  }
}

/** Whether text took the place of text, which no rule of a style sheet minds, and is no such rule itself. */
function isOtherText({ type, target, addedNodes, removedNodes }: MutationRecord): boolean {
  if (type === 'characterData') return (target as CharacterData).data !== '' && !isStyle(target.parentNode);
  return type === 'childList' && isText(addedNodes) && isText(removedNodes) && !isStyle(target);
}

function isText(nodes: NodeList): boolean {
  for (const node of nodes) if (nodeTypeOf(node) !== Node.TEXT_NODE) return false;
  return nodes.length > 0;
}

function isStyle(node: Node | null): boolean {
  return node !== null && nodeTypeOf(node) === Node.ELEMENT_NODE && tagOf(node as Element) === 'style';
}
