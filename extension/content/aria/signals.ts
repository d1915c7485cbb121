/**
 * What may change how a page is shown, as far as the page gives a sign of it. While no sign has come since
 * all elements were asked how they are shown, they need not be asked again.
 */

import { isConnected, nodeTypeOf, tagOf } from '../dom';

/** After which an element may match other rules, or a rule may hold that did not. */
const EVENTS = 'pointerdown pointerup keydown keyup click input fullscreenchange'.split(' ');
/** Those of which only the shadow root hears in which they are, or in which the focus or the pointer moves. */
const ENCLOSED = (
  'focusin focusout pointerover pointerout change invalid reset toggle beforetoggle load scroll ' +
  'transitionrun transitionend transitioncancel animationstart animationend animationcancel'
).split(' ');

/** What a person has set up, or a tool emulates. */
const MEDIA = ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', 'print'];

/** Counts signs. */
export class Signals {
  /** How many there were so far. */
  count = 0;
  readonly #document: Document;
  /** The shadow roots in it. */
  readonly #roots = new Set<ShadowRoot>();
  readonly #media = MEDIA.map((query) => matchMedia(query));
  readonly #came: () => void;
  /** How the window, the animations and the style sheets were when they were looked at last. */
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
    // Not at the window, which is not told of what has loaded.
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
    this.#roots.add(root);
    for (const type of ENCLOSED) root.addEventListener(type, this.came, { capture: true, passive: true });
  }

  /** Looks at what gives a sign only when it is looked at: the window, animations, and the style sheets. */
  look(): void {
    const around: unknown[] = [
      innerWidth,
      innerHeight,
      devicePixelRatio,
      location.href,
      ...this.#media.map(({ matches }) => matches),
    ];
    let moves = this.#lookInto(this.#document, around);
    for (const root of this.#roots) {
      if (!isConnected(root)) this.#roots.delete(root);
      else if (this.#lookInto(root, around)) moves = true;
    }
    const now = around.join(' ');
    if (now !== this.#around || moves) this.came();
    this.#around = now;
  }

  /** Notes the style sheets and the animations of a document or shadow root; returns whether it has animations. */
  #lookInto(root: Document | ShadowRoot, around: unknown[]): boolean {
    const { styleSheets, adoptedStyleSheets } = root;
    for (const sheet of styleSheets) around.push(this.#sheet(sheet));
    for (const sheet of adoptedStyleSheets) around.push(this.#sheet(sheet));
    const moves = root.getAnimations().length > 0;
    around.push(moves); // what an animation shows is hidden once it has gone
    return moves;
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
