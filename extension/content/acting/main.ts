/** What a frame does for the worker that acts on its elements. */
import { folded } from '../../clean';
import { cutWhole } from '../../cut';
import type { ActAsk as Ask, Point, ActTold as Told } from '../../messages';
import {
  RefusedCovered,
  RefusedFailed,
  RefusedGone,
  RefusedHidden,
  RefusedKind,
  RefusedMoving,
  RefusedOther,
  RefusedOutside,
  RefusedPointer,
} from '../../protocol';
import type { AriaTree } from '../aria/tree';
import { CodeEditor } from '../code-editor';
import { nodeTypeOf, parentAcrossRoots, rootOf } from '../dom';
import type { SensitiveFields } from '../sensitive/fields';
import { describe } from '../target';
import { isEditingHost } from '../text';
import {
  choose,
  fill,
  focusEditor,
  focusedElement,
  focusedField,
  focusField,
  left,
  paste,
  textField,
} from './fields';
import { Guard } from './guard';
import { brief, clipperOf, type Hider, hiderOf, layerOf, moverOf, seekHidden, unhitBy } from './hiding';
import { ended, movesSince } from './moves';
import { Objections } from './objections';
import {
  frame,
  idle,
  isAnimated,
  isRefusal,
  isShown,
  outside,
  type Place,
  type Refusal,
  ready,
  through,
} from './ready';
import { scriptedClick, scriptedDrag, scriptedHover, scriptedKey, scriptedText } from './scripted';
import { veil } from './veil';

export class Acting {
  readonly #document: string;
  readonly #tree: AriaTree;
  readonly #sensitive: SensitiveFields;
  readonly #guard = new Guard();
  readonly #objections: Objections;
  /** How often the document had changed when it was last at rest; -1 before it was, and after it was scrolled. */
  #rested = -1;
  /** What the last refusal blames. */
  #blamed: Element | undefined;
  /** What was acted on last. */
  #acted: Element | undefined;

  constructor(document: string, tree: AriaTree, sensitive: SensitiveFields) {
    this.#document = document;
    this.#tree = tree;
    this.#sensitive = sensitive;
    this.#objections = new Objections(tree, sensitive);
    const moved = (): void => {
      this.#rested = -1;
    };
    for (const type of ['scroll', 'resize']) addEventListener(type, moved, { capture: true, passive: true });
  }

  async answer(request: string): Promise<string> {
    const ask = JSON.parse(request) as Ask;
    let told: Told;
    try {
      told = await this.#answer(ask);
    } catch (error) {
      told = { refused: RefusedFailed, text: error instanceof Error ? error.message : String(error) };
    }
    return this.#sensitive.hide(JSON.stringify(told));
  }

  async #answer(ask: Ask): Promise<Told> {
    const deadline = performance.now() + ask.ms;
    if (ask.do === 'rest') return await this.#rest(deadline, ask);
    if (ask.do === 'moves') {
      await ended(movesSince(ask.since ?? 0, this.#acted), ask.ms);
      return {};
    }
    if (ask.do === 'idle') {
      await idle(ask.ms);
      return {};
    }
    if (ask.do === 'change') return await this.#change(deadline);
    if (ask.do === 'veil' || ask.do === 'unveil') {
      veil(this.#tree.fields(), this.#sensitive, ask.do === 'veil');
      return {};
    }
    if (ask.do === 'scroll' && ask.id === undefined) {
      scrollBy({ left: ask.x ?? 0, top: ask.y ?? 0, behavior: 'instant' });
      return {};
    }
    if (ask.do === 'seek') return this.#seek(ask.texts?.[0] ?? '');
    if (ask.do === 'call' && ask.blamed !== undefined)
      return this.#call(ancestor(this.#blamed, ask.blamed), ask);
    // The element may be gone by now, as what the click did.
    if (ask.do === 'struck') return ask.document === this.#document ? this.#struck() : {};
    if (ask.id === undefined) return await this.#inFocus(ask);
    if (ask.document !== this.#document) return { refused: RefusedGone };
    const found = this.#tree.find(ask.id);
    if (found === undefined) return { refused: RefusedGone };
    const { element, role, name } = found;
    this.#acted = element;
    // A code editor's field may be named after the place of the caret.
    const named = CodeEditor.of(element) === undefined ? ask.name : undefined;
    if (ask.role !== undefined && (role !== ask.role || (named !== undefined && !alike(name, named)))) {
      if (!isShown(element, element.getBoundingClientRect()))
        return this.#told({ refused: RefusedHidden }, element);
      return { refused: RefusedOther, text: `${role} ${JSON.stringify(cutWhole(name, 100))}` };
    }
    if (ask.needs === undefined) return this.#told(await this.#act(ask, element, deadline), element);
    const stands = this.#tree.mutations === this.#rested && !isAnimated(element);
    const place = await ready(element, ask.needs, deadline, stands);
    if (isRefusal(place)) return this.#told(place, element);
    return { ...this.#told(await this.#act(ask, element, deadline, place), element), since: place.since };
  }

  async #act(ask: Ask, element: Element, deadline: number, place?: Place): Promise<Told | Refusal> {
    switch (ask.do) {
      case 'ready':
        this.#objections.watch(element);
        if (ask.guard === true) this.#guard.expect(element);
        return place ?? {};
      case 'through':
        if (ask.guard === true) this.#guard.expect(undefined);
        return await through(element, ask.point ?? { x: 0, y: 0 }, deadline);
      case 'field':
        if (ask.texts !== undefined) this.#types(element, ask);
        return await focusEditor(element, ask.clear === true);
      case 'left':
        return await left(element);
      case 'paste':
        return { done: await paste(element, ask.texts?.[0] ?? '') };
      case 'fill':
        this.#objections.watch(element);
        return fill(element, ask.texts?.[0] ?? '');
      case 'choose':
        return choose(element, ask.texts ?? []);
      case 'draggable':
        return { draggable: isDraggable(element) };
      case 'drag': {
        const target = ask.to === undefined ? undefined : this.#tree.find(ask.to)?.element;
        if (target === undefined) return { refused: RefusedGone };
        scriptedDrag(element, target);
        return {};
      }
      case 'box': {
        const { x, y, width, height } = element.getBoundingClientRect();
        return { box: ask.box === undefined ? { x, y, width, height } : outside(element, ask.box) };
      }
      case 'call':
        return this.#call(element, ask);
      case 'focus':
        // An editor that was never in focus has its caret before the text: keys are for what comes after it.
        this.#objections.watch(element);
        if (isTextEditor(element) && focusedElement() !== element) return focusField(element, false);
        (element as HTMLElement).focus();
        return {};
      case 'scroll':
        if (ask.x || ask.y)
          scrollable(element).scrollBy({ left: ask.x ?? 0, top: ask.y ?? 0, behavior: 'instant' });
        else element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
        return {};
      case 'click':
        scriptedClick(element, ask);
        return {};
      case 'hover':
        scriptedHover(element);
        return {};
      case 'text':
        this.#types(element, ask);
        return scriptedText(element, ask.texts?.[0] ?? '', ask.clear === true);
      case 'key':
        scriptedKey(element, ask.key ?? '', ask.modifiers ?? 0);
        return {};
      default:
        return { refused: RefusedKind };
    }
  }

  /** Acts on what has the focus. */
  async #inFocus(ask: Ask): Promise<Told> {
    const focused = focusedElement();
    this.#acted = focused;
    switch (ask.do) {
      case 'focus':
        this.#objections.watch(focused);
        return {};
      case 'key':
        scriptedKey(focused, ask.key ?? '', ask.modifiers ?? 0);
        return {};
      case 'field': {
        const told = focusedField(ask.clear === true);
        if (told.refused === undefined && ask.texts !== undefined) this.#types(focused, ask);
        return ask.clear === true && told.refused === undefined ? await focusEditor(focused, true) : told;
      }
      case 'left':
        return await left(focused);
      case 'paste':
        return { done: await paste(focused, ask.texts?.[0] ?? '') };
      default:
        return {};
    }
  }

  #types(element: Element, { texts: [text = ''] = [], clear = false }: Ask): void {
    this.#objections.watch(element);
    const field = textField(element);
    if (field !== undefined) this.#objections.types(field, text, clear);
  }

  /** Whether the click that was watched would have hit something else, or was not fired. */
  #struck(): Told {
    const { instead, away = false, unclicked } = this.#guard.end();
    if (instead !== undefined)
      return this.#told({ refused: away ? RefusedMoving : RefusedCovered, by: instead });
    return unclicked === undefined ? {} : { unclicked };
  }

  /** What a frame answers. `target` is the element that could not be acted on, if it is known. */
  #told(answer: Told | Refusal, target?: Element): Told {
    const { by, at, ...rest } = answer as Refusal & Told;
    const front = typeof by === 'object' ? by : undefined;
    const blame = this.#blame(rest.refused, target, front, at);
    const told: Told = blame === undefined ? rest : { ...rest, blame };
    if (front === undefined) return told;
    if (blame?.pseudo !== undefined) return { ...told, text: `${blame.pseudo} of ${describe(front).target}` };
    const id = this.#tree.around(front);
    return { ...told, text: rest.text ?? describe(front).target, ...(id !== undefined && { by: id }) };
  }

  /** What to blame for a refusal. What is clipped away is behind whatever is there. */
  #blame(refused: string | undefined, target?: Element, front?: Element, at?: Point): Told['blame'] {
    let hider: Hider | undefined;
    if (refused === RefusedHidden && target !== undefined) hider = hiderOf(target);
    else if (refused === RefusedPointer && target !== undefined) hider = unhitBy(target);
    else if (refused === RefusedCovered || refused === RefusedOutside) {
      if (target !== undefined) hider = clipperOf(target);
      if (front !== undefined) hider ??= layerOf(front, target, at);
      else if (target !== undefined) hider ??= moverOf(target);
    }
    this.#blamed = hider?.element;
    if (hider === undefined) return undefined;
    const { element, pseudo, property, value } = hider;
    if (pseudo !== undefined) return { property, value, pseudo, element: brief(element) + pseudo };
    return { property, value, ...(element !== target && element !== front && { element: brief(element) }) };
  }

  /** Whether a hidden element has a text. */
  #seek(text: string): Told {
    const found = seekHidden(text);
    return found === undefined ? {} : this.#told({ refused: RefusedHidden, text: found.name }, found.element);
  }

  /** Shows an element to whoever knows the event's name. */
  #call(element: Element | undefined, ask: Ask): Told {
    if (element === undefined) return { refused: RefusedGone };
    // Listeners of other worlds see whatever is inside, except of what is closed.
    if (isClosedIn(element)) return { refused: RefusedKind, text: 'outside a closed shadow root' };
    element.dispatchEvent(new Event(ask.key ?? '', { composed: true }));
    return {};
  }

  /** Resolves when the document has changed. */
  async #change(deadline: number): Promise<Told> {
    const before = this.#tree.mutations;
    while (this.#tree.mutations === before && performance.now() < deadline) await frame();
    return {};
  }

  /** Resolves when the document did not change for a frame, or when the time is over. */
  async #rest(deadline: number, { fields = false, since }: Ask): Promise<Told> {
    for (let before = this.#tree.mutations; ; ) {
      await frame();
      const changes = this.#tree.mutations;
      const still = changes === before;
      if (still) this.#rested = changes;
      if (still || performance.now() >= deadline) {
        const objections = fields ? this.#objections.told() : [];
        const moves = since !== undefined && movesSince(since, this.#acted).length > 0;
        return {
          changes,
          ...(moves && { moves }),
          ...(objections.length > 0 && { objections, document: this.#document }),
        };
      }
      before = changes;
    }
  }
}

/** The ancestor of an element that is so many levels up. */
function ancestor(element: Element | undefined, levels: number): Element | undefined {
  let at = element;
  for (let i = 0; i < levels && at !== undefined; i++) at = parentAcrossRoots(at) ?? undefined;
  return at;
}

function isClosedIn(element: Element): boolean {
  let root = rootOf(element);
  for (; nodeTypeOf(root) === Node.DOCUMENT_FRAGMENT_NODE; root = rootOf((root as ShadowRoot).host))
    if ((root as ShadowRoot).mode === 'closed') return true;
  return false;
}

/** Whether two names may be of one thing: numbers in them count up and down. */
function alike(a: string, b: string): boolean {
  const kind = (text: string): string => folded(text).replace(/\d+/g, '0').replace(/…$/, '');
  const [x, y] = [kind(a), kind(b)];
  return x === y || x.startsWith(y) || y.startsWith(x);
}

/** Whether the browser itself would carry the element away. */
function isDraggable(element: Element): boolean {
  for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
    if ((at as HTMLElement).draggable === true) return true;
  }
  return false;
}

/** Whether an element is edited by other means than a field's. */
function isTextEditor(element: Element): boolean {
  return isEditingHost(element) || CodeEditor.of(element) !== undefined;
}

/** What scrolls when an element is scrolled: itself or an ancestor. */
function scrollable(element: Element): Element {
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    const { overflowY, overflowX } = getComputedStyle(at);
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(overflowY)) return at;
    if (at.scrollWidth > at.clientWidth && /auto|scroll/.test(overflowX)) return at;
  }
  return document.scrollingElement ?? document.documentElement;
}
