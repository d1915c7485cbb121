/**
 * Notices what fields make of what is done to them: text that they do not take or that another element gets, former text
 * that they keep, and a form that the browser does not submit because of them.
 */
import type { FieldObjection } from '../../messages';
import type { AriaTree } from '../aria/tree';
import { CodeEditor } from '../code-editor';
import { isConnected, rootOf } from '../dom';
import type { SensitiveFields } from '../sensitive/fields';
import { edited, editorOf, segmentText, solid, takesTextOf } from './fields';

/** An element that has its own part in a form: one of HTML's, or one that the page has defined. */
type Field = HTMLElement &
  Partial<Pick<HTMLInputElement, 'form' | 'name' | 'type' | 'validity' | 'validationMessage'>>;

interface Typed {
  readonly field: HTMLElement;
  readonly before: string;
  readonly text: string;
  /** What a rich editor had that is to be cleared, as {@link solid} text. */
  readonly former: string | undefined;
  /** Another element that text went to. */
  strayed?: Element;
  /** What there was to tell when the key came that submits, after which pages empty the field. */
  submitted?: Omit<FieldObjection, 'id'>[];
}

/** What a click does not submit a form by. */
const FIELDS = 'input:not([type=submit], [type=image], [type=button], [type=reset]), select, textarea, label';

export class Objections {
  readonly #tree: AriaTree;
  readonly #sensitive: SensitiveFields;
  #watching = new AbortController();
  #typed: Typed | undefined;
  /** Whether a key or a click came by which forms are submitted. */
  #submits = false;
  /** The fields that the browser has found wrong since then, and what it says of them. */
  readonly #wrong = new Map<Field, string>();

  constructor(tree: AriaTree, sensitive: SensitiveFields) {
    this.#tree = tree;
    this.#sensitive = sensitive;
  }

  /** From now on something is done to an element. A form and its fields stand in one root, which hears of all. */
  watch(element: Element): void {
    this.#watching.abort();
    this.#watching = new AbortController();
    this.#typed = undefined;
    this.#tries(false);
    const options = { capture: true, signal: this.#watching.signal };
    const root = rootOf(element);
    root.addEventListener(
      'click',
      (event) => this.#tries((event.composedPath()[0] as Element).closest(FIELDS) === null),
      options,
    );
    root.addEventListener(
      'keydown',
      (event) => {
        if ((event as KeyboardEvent).key !== 'Enter') return;
        this.#tries(true);
        const typed = this.#typed;
        if (typed !== undefined) typed.submitted ??= objectionsTo(typed);
      },
      options,
    );
    // Another root may get the text.
    for (const type of ['keydown', 'beforeinput'] as const)
      addEventListener(type, (event) => this.#gets(event), options);
    root.addEventListener('invalid', (event) => this.#refuses(event.target as Field), options);
    root.addEventListener('submit', () => this.#tries(false), options); // the browser let it pass
  }

  /** Text is about to be typed that makes another value of a field's. */
  types(field: HTMLElement, text: string, clear: boolean): void {
    const before = written(field);
    const editor = editorOf(field);
    const former = clear && editor === 'rich' ? solid(edited(field)) : undefined;
    if (former === '' && text === '') return; // what an empty editor says
    if (editor === 'segment' && isSameNumber(segmentText(field), text)) return;
    const after = clear ? text : before + text;
    if (after !== before) this.#typed = { field, before, text, former };
  }

  /** What they made of it so far. */
  told(): FieldObjection[] {
    const told: FieldObjection[] = [];
    const tell = (field: Element, objection: Omit<FieldObjection, 'id'>): void => {
      const id = this.#tree.around(field);
      if (id !== undefined) told.push({ id, ...objection });
    };
    const typed = this.#typed;
    if (typed !== undefined)
      for (const objection of typed.submitted ?? objectionsTo(typed)) tell(typed.field, objection);
    const strayed = typed?.strayed === undefined ? undefined : this.#tree.around(typed.strayed);
    if (typed !== undefined && strayed !== undefined) tell(typed.field, { strayed });
    // The browser takes whom it asks to the first of them; pages look for what is wrong without that, too.
    for (const [field, message] of this.#isAsked() ? this.#wrong : []) tell(field, { invalid: message });
    return told;
  }

  /** An element gets a key or a text. */
  #gets(event: KeyboardEvent | InputEvent): void {
    const typed = this.#typed;
    if (typed === undefined || typed.text === '') return;
    const isText =
      event instanceof InputEvent
        ? event.inputType === 'insertText'
        : event.key.length === 1 && !event.ctrlKey && !event.metaKey;
    const [target] = event.composedPath();
    if (!isText || !(target instanceof Element) || !isConnected(typed.field)) return;
    if (!takesTextOf(target, typed.field)) typed.strayed ??= target;
  }

  #isAsked(): boolean {
    for (const field of this.#wrong.keys())
      if ((rootOf(field) as Document | ShadowRoot).activeElement === field) return true;
    return false;
  }

  #tries(submits: boolean): void {
    this.#submits = submits;
    this.#wrong.clear();
  }

  #refuses(field: Field): void {
    if (!this.#submits) return;
    const { form, name, type } = field;
    // Of radio buttons every one of a group is wrong.
    for (const other of type === 'radio' ? this.#wrong.keys() : [])
      if (other.type === type && other.name === name && other.form === form) return;
    this.#wrong.set(field, this.#message(field));
  }

  /** The browser's message, which may quote what the field holds. */
  #message(field: Field): string {
    const quotes = this.#sensitive.has(field) && field.validity?.valueMissing !== true;
    return quotes ? '' : (field.validationMessage ?? '');
  }
}

/** What a field made of what was typed, as far as that is to be told. */
function objectionsTo({ field, before, text, former }: Typed): Omit<FieldObjection, 'id'>[] {
  if (!isConnected(field) || CodeEditor.of(field)?.passes === true) return [];
  const typed = [...text].length;
  if (written(field) === before) return [{ typed }];
  const kept = former === undefined ? 0 : keptOf(former, solid(text), solid(edited(field)));
  return kept === 0 ? [] : [{ typed, kept, former: [...(former ?? '')].length }];
}

/**
 * How many characters of its former text an editor keeps: what is there beside the new text, if that is nothing else. What
 * editors make of a text is not in the former one, at least not in its order.
 */
function keptOf(former: string, text: string, now: string): number {
  for (const at of [now.indexOf(text), now.lastIndexOf(text)]) {
    const rest = [...(at < 0 ? '' : now.slice(0, at) + now.slice(at + text.length))];
    let found = 0;
    for (const char of former) if (char === rest[found]) found++;
    if (found > 0 && found === rest.length) return found;
  }
  return 0;
}

/** Whether a part of a date already is what is to be typed; both "" for one that is empty. */
function isSameNumber(shown: string, text: string): boolean {
  return shown === '' || text === '' ? shown === text : Number(shown) === Number(text);
}

function written(field: HTMLElement): string {
  const editor = CodeEditor.of(field);
  if (editor !== undefined) return editor.drawn().text;
  return 'value' in field ? String(field.value) : (field.textContent ?? '');
}
