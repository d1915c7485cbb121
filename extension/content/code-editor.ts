/**
 * Code editors: they draw their text apart from the field that takes the keys, and of a long text only what is in view.
 * What they draw is read, since what they keep is out of reach.
 */
import { all, attribute, closest, matches, parentOf } from './dom';

interface Kind {
  /** What is around all of it. */
  root: string;
  /** What takes the keys. */
  field: string;
  line: string;
  /** The numbers beside lines. */
  number: string;
  /** Lines and numbers are in the order of their places, and a line that is too wide for the editor is several. */
  placed?: true;
  /** Stands for lines that are not drawn. Without it, lines are drawn to the end of what is in view. */
  gap?: string;
}

const KINDS: readonly Kind[] = [
  {
    root: '.monaco-editor',
    field: '.native-edit-context, .inputarea',
    line: '.view-lines > .view-line',
    number: '.margin-view-overlays .line-numbers',
    placed: true,
  },
  {
    root: '.ace_editor',
    field: '.ace_text-input',
    line: '.ace_text-layer > .ace_line, .ace_text-layer > .ace_line_group',
    number: '.ace_gutter-cell',
  },
  {
    root: '.cm-editor',
    field: '.cm-content',
    line: '.cm-line',
    number: '.cm-lineNumbers .cm-gutterElement:not([style*=hidden])',
    gap: '.cm-gap',
  },
];

const FIELDS = /(?:^|\s)(?:native-edit-context|inputarea|ace_text-input|cm-content)(?:\s|$)/;
const DRAWN = /(?:^|\s)ace_(?:text-layer|gutter)(?:\s|$)/;

/** What a code editor draws. */
export interface Drawn {
  text: string;
  /** How many lines it has, or which of them are drawn: `8`, `1-40+` where others follow, `461-500` at the end. */
  lines: string;
}

export class CodeEditor {
  /** The element around it, which a pointer hits. */
  readonly root: Element;
  readonly #kind: Kind;

  private constructor(root: Element, kind: Kind) {
    this.root = root;
    this.#kind = kind;
  }

  /** The editor of a field that takes its keys; undefined for any other element. */
  static of(field: Element): CodeEditor | undefined {
    if (!FIELDS.test(attribute(field, 'class'))) return undefined;
    const kind = KINDS.find((one) => matches(field, one.field));
    const root = kind === undefined ? null : closest(field, kind.root);
    return kind === undefined || root === null ? undefined : new CodeEditor(root, kind);
  }

  /** What it draws now. */
  drawn(): Drawn {
    const drawn = this.#ordered(this.#kind.line);
    const numbers = this.#numbers();
    const lines: string[] = [];
    for (const line of drawn) {
      const text = (line.textContent ?? '').replaceAll('\u00a0', ' ');
      if (lines.length > 0 && this.#kind.placed === true && numbers?.has(topOf(line)) === false)
        lines.push(lines.pop() + text);
      else lines.push(text);
    }
    const [from = 1] = numbers?.values() ?? [];
    const to = from + lines.length - 1;
    const last = drawn.at(-1);
    const goesOn = last !== undefined && this.#goesOn(last);
    return {
      text: lines.join('\n'),
      lines: from === 1 && !goesOn ? `${to}` : `${from}-${to}${goesOn ? '+' : ''}`,
    };
  }

  #ordered(selector: string): Element[] {
    const found = [...all(this.root, selector)];
    return this.#kind.placed === true ? found.sort((a, b) => topOf(a) - topOf(b)) : found;
  }

  /** The numbers of lines, by their places; undefined where they are not those of one line after the other. */
  #numbers(): Map<number, number> | undefined {
    const numbers = new Map<number, number>();
    for (const [at, element] of this.#ordered(this.#kind.number).entries()) {
      const number = Number.parseInt(element.textContent ?? '', 10);
      if (number > 0) numbers.set(this.#kind.placed === true ? topOf(element) : at, number);
    }
    const listed = [...numbers.values()];
    const [from = 0] = listed;
    return from > 0 && listed.every((number, i) => number === from + i) ? numbers : undefined;
  }

  /** Whether lines follow that are not drawn. */
  #goesOn(last: Element): boolean {
    const { gap } = this.#kind;
    if (gap !== undefined) return last.nextElementSibling !== null && matches(last.nextElementSibling, gap);
    return last.getBoundingClientRect().bottom > this.root.getBoundingClientRect().bottom + 1;
  }
}

/** Whether an element draws what is the value of a field elsewhere, or the numbers of its lines. */
export function isDrawnCode(element: Element): boolean {
  return DRAWN.test(attribute(element, 'class')) && closest(element, '.ace_editor') !== null;
}

/** Where an element or its parent is placed, in px. */
function topOf(element: Element): number {
  for (const at of [element, parentOf(element)]) {
    const top = Number.parseFloat((at as HTMLElement | null)?.style.top ?? '');
    if (!Number.isNaN(top)) return top;
  }
  return 0;
}
