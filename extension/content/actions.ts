import type { ContentEvent } from '../messages';
import { isElement, isShadowRoot, rootOf, tagOf } from './dom';
import { PendingActions } from './pending-actions';
import type { SensitiveFields } from './sensitive/fields';
import { actedOn, describe } from './target';
import { fold, isEditingHost } from './text';
import { fieldValue } from './values';

type ActionKind = 'click' | 'type' | 'select' | 'submit' | 'key';

/** What the recorder of actions needs of its surroundings. */
export interface ActionsOptions {
  /** Takes each action, in the order in which they were done. */
  emit: (event: ContentEvent) => void;
  /** The mask that replaces values of sensitive fields. */
  mask: () => string;
  /** Whether to record now. While false a listener costs one call. */
  enabled: () => boolean;
  sensitive: SensitiveFields;
  signal: AbortSignal;
  now?: () => number;
  /** Whether the browser made the event out of input, not a script. Replaced in tests only. */
  trusted?: (event: Event) => boolean;
}

/** How long a pause ends a burst of typing, milliseconds. */
const TYPING_PAUSE = 1000;

/** How long an Enter in a field of several lines may take to turn out as a new line, milliseconds. */
const NEWLINE_WAIT = 80;

/** How long after input a submit counts as the user's, in milliseconds: handlers may await something. */
const SUBMIT_AFTER_INPUT = 1000;

/** Inputs whose value comes by choosing: they report on `change`, not while they are dragged. */
const CHOSEN_TYPES = new Set(
  'checkbox radio range color date datetime-local month time week file'.split(' '),
);

/** Inputs that a click activates; all others take text. */
const BUTTON_TYPES = new Set('button submit reset image'.split(' '));

/** Inputs that are set in steps, by a drag or a date's day, month and year: only the end is reported. */
const GRADUAL_TYPES = new Set('range color date datetime-local month time week'.split(' '));

/** Events that only a user or a driver's input causes; scripts can cause the others too. */
const INPUT_EVENTS = new Set('pointerdown keydown click drop'.split(' '));

/**
 * Records what a person does on the page, or a driver that sends trusted input, in words a reader
 * understands. Events made by the page's own scripts do not count.
 */
export class Actions {
  readonly #options: ActionsOptions;
  readonly #now: () => number;
  readonly #trusted: (event: Event) => boolean;
  readonly #pending = new PendingActions();
  readonly #shadowRoots = new WeakSet<ShadowRoot>();
  /** Checkboxes and the like that a script clicked: the following change is not the user's. */
  readonly #scripted = new WeakSet<Element>();

  #typing: { field: HTMLElement; began: number; at: number } | null = null;
  #typingTimer: ReturnType<typeof setTimeout> | undefined;
  #lastInput = Number.NEGATIVE_INFINITY;
  /** When Enter was last pressed in a text field: browsers then click the form's button by themselves. */
  #enterInField = Number.NEGATIVE_INFINITY;

  constructor(target: EventTarget, options: ActionsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#trusted = options.trusted ?? ((event) => event.isTrusted);
    this.#listen(target, 'click', (event) => this.#onClick(event as MouseEvent));
    this.#listen(target, 'input', (event) => this.#onInput(event));
    this.#listen(target, 'keydown', (event) => this.#onKey(event as KeyboardEvent));
    this.#listen(target, 'focusout', (event) => this.#onLeave(event));
    for (const type of ['pointerdown', 'focusin', 'drop'])
      this.#listen(target, type, (event) => this.#onApproach(event));
    this.#listenWithin(target);
    options.signal.addEventListener('abort', () => this.discard(), { once: true });
  }

  /** Emits all that waits: a burst of typing, a click whose effect was awaited. */
  flush(): void {
    this.#pending.settle();
    this.#endTyping();
  }

  /** Forgets what waits. */
  discard(): void {
    this.#pending.discard();
    clearTimeout(this.#typingTimer);
    this.#typing = null;
  }

  #listen(target: EventTarget, type: string, handle: (event: Event) => void): void {
    target.addEventListener(
      type,
      (event) => {
        if (!this.#options.enabled()) return;
        if (this.#trusted(event)) {
          if (INPUT_EVENTS.has(type)) this.#lastInput = this.#now();
          handle(event);
        } else if (type === 'click') {
          const element = isElement(event.target) ? event.target : null;
          if (element !== null) this.#scripted.add(element);
        }
      },
      { capture: true, passive: true, signal: this.#options.signal },
    );
  }

  /** Listens for the events that do not leave a shadow root. */
  #listenWithin(target: EventTarget): void {
    this.#listen(target, 'change', (event) => this.#onChange(event));
    this.#listen(target, 'submit', (event) => this.#onSubmit(event as SubmitEvent));
  }

  #onApproach(event: Event): void {
    for (const node of event.composedPath()) {
      if (isShadowRoot(node) && !this.#shadowRoots.has(node)) {
        this.#shadowRoots.add(node);
        this.#listenWithin(node);
      }
    }
    const element = origin(event);
    if (element === null) return;
    this.#options.sensitive.note(element);
    this.#options.sensitive.noteAll(rootOf(element));
  }

  #onClick(event: MouseEvent): void {
    this.#onApproach(event);
    const path = event.composedPath();
    const element = actedOn(path);
    if (element === null) return;
    this.#scripted.delete(element);
    // Enter in a text field makes the browser click the form's button: that was no second action.
    if (event.detail === 0 && isButton(element) && this.#now() - this.#enterInField < 200) return;
    const type = tagOf(element) === 'input' ? (element as HTMLInputElement).type : '';
    // These report what was chosen when it is chosen; the click only opens them.
    if (tagOf(element) === 'select' || tagOf(element) === 'option') return;
    if (CHOSEN_TYPES.has(type) && type !== 'checkbox' && type !== 'radio') return;

    this.flush();
    const emit = this.#prepare('click', element, this.#now());
    const isLabel = tagOf(element) === 'label' && (element as HTMLLabelElement).control != null;
    if (type === 'checkbox' || type === 'radio') {
      // The change that follows says more; without one (it was chosen already, or the page
      // prevents it) the click itself is what happened.
      this.#pending.add(element, emit, 0);
    } else if (isLabel) {
      // The control that it labels gets a click of its own, unless the page prevents that.
      this.#pending.add(element, () => event.defaultPrevented && emit(), 0);
    } else {
      emit();
    }
  }

  #onInput(event: Event): void {
    const field = textField(event);
    if (field === null) return;
    this.#options.sensitive.note(field);
    const { inputType } = event as InputEvent;
    if (inputType === 'insertLineBreak' || inputType === 'insertParagraph') this.#pending.drop(field);
    if (this.#typing !== null && this.#typing.field !== field) this.#endTyping();
    const at = this.#now();
    this.#typing = { field, began: this.#typing?.began ?? at, at };
    clearTimeout(this.#typingTimer);
    this.#typingTimer = setTimeout(() => this.#endTyping(), TYPING_PAUSE);
  }

  #onChange(event: Event): void {
    const element = origin(event);
    if (element === null) return;
    if (
      tagOf(element) !== 'select' &&
      !(tagOf(element) === 'input' && CHOSEN_TYPES.has((element as HTMLInputElement).type))
    ) {
      return;
    }
    this.#pending.drop(element);
    if (this.#scripted.delete(element)) return;
    this.flush();
    const emit = this.#prepare('select', element, this.#now());
    if (GRADUAL_TYPES.has((element as HTMLInputElement).type)) this.#pending.add(element, emit, TYPING_PAUSE);
    else emit();
  }

  #onSubmit(event: SubmitEvent): void {
    const form = origin(event);
    if (form === null || this.#now() - this.#lastInput > SUBMIT_AFTER_INPUT) return;
    const { submitter } = event;
    // A script's click on the button made this, with no one at the keyboard.
    if (submitter != null && this.#scripted.delete(submitter)) return;
    this.flush();
    this.#prepare('submit', form, this.#now())();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing || event.repeat) return;
    const element = actedOn(event.composedPath());
    if (element === null) return;
    const editable = isTextField(element);
    const key = meaningfulKey(event, editable);
    if (key === '') return;
    const at = this.#now();
    if (key !== 'Enter' || !editable) {
      // Enter on a button or a link is a click, and is reported as one.
      if (key === 'Enter' && activatesByEnter(element)) return;
      this.flush();
      this.#prepare('key', element, at, key)();
      return;
    }
    const emit = this.#prepare('key', element, at, key);
    if (!hasLines(element)) {
      this.#enterInField = at;
      this.flush();
      emit();
      return;
    }
    // In a field of several lines Enter is a new line, or sends: then the page empties the field in
    // its own handler, so what was typed is read now.
    const typing = this.#typing?.field === element ? this.#typing : null;
    const typed = typing === null ? null : this.#prepare('type', element, typing.at, undefined, typing.began);
    this.#pending.add(
      element,
      () => {
        if (typed !== null) {
          this.#forgetTyping();
          typed();
        }
        emit();
      },
      NEWLINE_WAIT,
    );
  }

  #onLeave(event: Event): void {
    const field = this.#typing?.field;
    const element = origin(event);
    if (field !== undefined && event.composedPath().includes(field)) this.flush();
    else if (element !== null && GRADUAL_TYPES.has((element as HTMLInputElement).type))
      this.#pending.settle();
  }

  #endTyping(): void {
    const typing = this.#typing;
    if (typing === null) return;
    this.#forgetTyping();
    this.#prepare('type', typing.field, typing.at, undefined, typing.began)();
  }

  #forgetTyping(): void {
    clearTimeout(this.#typingTimer);
    this.#typing = null;
  }

  /**
   * Reads everything about an action now, while the page is as it was, and returns what reports it.
   * The value of a sensitive field is never read into an event.
   */
  #prepare(action: ActionKind, element: Element, at: number, key?: string, began = at): () => void {
    const event: ContentEvent = { kind: 'action', at, action, ...describe(element) };
    if (began < at) event.began = began;
    if (key !== undefined) event.value = key;
    else if (action === 'type' || action === 'select') {
      const toggled =
        tagOf(element) === 'input' && /^(?:checkbox|radio)$/.test((element as HTMLInputElement).type);
      if (!toggled && this.#options.sensitive.has(element as HTMLElement)) {
        event.value = this.#options.mask();
        event.masked = 1;
      } else {
        event.value = fieldValue(element);
      }
    }
    return () => this.#options.emit(event);
  }
}

function origin(event: Event): Element | null {
  const [first] = event.composedPath();
  return isElement(first) ? first : null;
}

/** The text field that an input event changed: of rich text the whole editor. */
function textField(event: Event): HTMLElement | null {
  for (const node of event.composedPath()) {
    if (isElement(node) && isTextField(node)) return node as HTMLElement;
  }
  return null;
}

function isTextField(element: Element): boolean {
  if (tagOf(element) === 'textarea') return true;
  if (tagOf(element) === 'input') {
    const { type } = element as HTMLInputElement;
    return !CHOSEN_TYPES.has(type) && !BUTTON_TYPES.has(type) && type !== 'hidden';
  }
  return isEditingHost(element);
}

function hasLines(field: Element): boolean {
  return tagOf(field) !== 'input';
}

function isButton(element: Element): boolean {
  return (
    tagOf(element) === 'button' ||
    (tagOf(element) === 'input' && BUTTON_TYPES.has((element as HTMLInputElement).type))
  );
}

function activatesByEnter(element: Element): boolean {
  return isButton(element) || /^(?:a|area|summary)$/.test(tagOf(element));
}

const MODIFIERS = new Set([
  'Control',
  'Shift',
  'Alt',
  'Meta',
  'AltGraph',
  'Dead',
  'Process',
  'Unidentified',
  'CapsLock',
]);

/** Keys that edit or move within a field together with a modifier: part of typing, not of the page. */
const EDITING_KEYS =
  /^(?:[acvxyz]|Arrow(?:Left|Right|Up|Down)|Home|End|Backspace|Delete|PageUp|PageDown|Insert|Tab| )$/i;

/** The key as people write shortcuts, `Control+S`; "" for keys that say nothing by themselves. */
function meaningfulKey(event: KeyboardEvent, editable: boolean): string {
  const { key } = event;
  if (typeof key !== 'string' || MODIFIERS.has(key) || key === 'Tab') return '';
  const modified = event.ctrlKey || event.altKey || event.metaKey;
  if (!modified) return key === 'Enter' || key === 'Escape' ? key : '';
  if (editable) {
    if (EDITING_KEYS.test(key)) return '';
    // Alt, and Control with Alt, type characters on many keyboards: those belong to the field's value.
    const types = event.getModifierState?.('AltGraph') || (event.altKey && !event.metaKey);
    if (types && key.length <= 2) return '';
  } else if (/^Arrow/.test(key)) {
    return '';
  }
  const parts = [];
  if (event.ctrlKey) parts.push('Control');
  if (event.altKey) parts.push('Alt');
  if (event.metaKey) parts.push('Meta');
  if (event.shiftKey) parts.push('Shift');
  parts.push(key.length === 1 ? key.toUpperCase() : fold(key, 20));
  return parts.join('+');
}
