/**
 * What may change how a page is shown, as far as the page gives a sign of it. While no sign has come since
 * all elements were asked how they are shown, they need not be asked again.
 */

import { nodeTypeOf } from '../dom';

/** After which an element may match other rules, or a rule may hold that did not. */
const EVENTS = (
  'focusin focusout pointerover pointerout pointerdown pointerup keydown keyup click input change invalid reset toggle ' +
  'beforetoggle load transitionrun transitionend transitioncancel animationstart animationend animationcancel'
).split(' ');
/** Those that stay within the shadow root in which they are. */
const ENCLOSED = ['transitionend', 'animationend', 'change'];

/** What a person has set up, or a tool emulates. */
const MEDIA = ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', 'print'];

/** Counts signs. */
export class Signals {
  /** How many there were so far. */
  count = 0;
  readonly #document: Document;
  readonly #media = MEDIA.map((query) => matchMedia(query));
  readonly #came: () => void;
  /** How the window and the style sheets were when they were looked at last. */
  #around = '';
  /** Those that may not be read, because of their origin: the page may not change them either. */
  readonly #foreign = new WeakSet<CSSStyleSheet>();

  /** Came is called for each sign. */
  constructor(document: Document, came: () => void) {
    this.#document = document;
    this.#came = came;
    // Not at the window, which is not told of what has loaded.
    for (const type of EVENTS) document.addEventListener(type, this.came, { capture: true, passive: true });
  }

  readonly came = (): void => {
    this.count++;
    this.#came();
  };

  /** Takes in mutations. */
  mutated(records: readonly MutationRecord[]): void {
    if (!records.every(isOtherText)) this.came();
  }

  /** Takes in a shadow root. */
  observe(root: ShadowRoot): void {
    for (const type of ENCLOSED) root.addEventListener(type, this.came, { capture: true, passive: true });
  }

  /** Looks at what gives a sign only when it is looked at: the window, animations, and the style sheets. */
  look(): void {
    const around = [
      innerWidth,
      innerHeight,
      devicePixelRatio,
      location.href,
      ...this.#media.map(({ matches }) => matches),
      ...Array.from(this.#document.styleSheets, this.#sheet),
      ...this.#document.adoptedStyleSheets.map(this.#sheet),
    ].join(' ');
    if (around !== this.#around || this.#document.getAnimations().length > 0) this.came();
    this.#around = around;
  }

  readonly #sheet = (sheet: CSSStyleSheet): string => {
    if (sheet.disabled) return 'disabled';
    if (this.#foreign.has(sheet)) return 'foreign';
    try {
      return `${sheet.media.mediaText} ${sheet.cssRules.length}`;
    } catch {
      this.#foreign.add(sheet);
      return 'foreign';
    }
  };
}

/** Whether text took the place of text, which no rule of a style sheet minds. */
function isOtherText({ type, target, addedNodes, removedNodes }: MutationRecord): boolean {
  if (type === 'characterData') return (target as CharacterData).data !== '';
  return type === 'childList' && isText(addedNodes) && isText(removedNodes);
}

function isText(nodes: NodeList): boolean {
  for (const node of nodes) if (nodeTypeOf(node) !== Node.TEXT_NODE) return false;
  return nodes.length > 0;
}
