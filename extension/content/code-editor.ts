/**
 * Code editors: they draw their text apart from the field that takes the keys, and of a long text only what is in view.
 * What they draw is read, since what they keep is out of reach.
 */
import { all, attribute, closest, first, has, isElement, matches, parentOf, tagOf } from './dom';

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
  /** What the editor adds to the text of a line. */
  added?: string;
  /** How many lines of that height, in px, all lines are together. Without it, the page does not show that. */
  rows?: (root: Element, height: number) => number;
}

const KINDS: readonly Kind[] = [
  {
    root: '.monaco-editor',
    field: '.native-edit-context, .inputarea',
    // Elsewhere are lines of other editors, and those that a comparison shows as deleted.
    line: ':scope > .overflow-guard > .monaco-scrollable-element > .lines-content > .view-lines > .view-line',
    number: ':scope > .overflow-guard > .margin > .margin-view-overlays .line-numbers',
    placed: true,
    added: '[class*=ghost-text], [class*=dyn-rule]',
  },
  {
    root: '.ace_editor',
    field: '.ace_text-input',
    line: '.ace_text-layer > .ace_line, .ace_text-layer > .ace_line_group',
    number: '.ace_gutter-cell',
    rows: (root, height) => Math.round(heightOf(root, '.ace_scrollbar-v > .ace_scrollbar-inner') / height),
  },
  {
    root: '.cm-editor',
    field: '.cm-content',
    line: '.cm-line',
    number: '.cm-lineNumbers .cm-gutterElement:not([style*=hidden])',
    gap: '.cm-gap',
    rows: (root, height) => Math.floor(heightOf(root, '.cm-content') / height),
  },
  {
    root: '.CodeMirror',
    field: '.CodeMirror > div > textarea, .CodeMirror-code[contenteditable]',
    line: '.CodeMirror-code > .CodeMirror-line, .CodeMirror-code > div > .CodeMirror-line',
    number: '.CodeMirror-code .CodeMirror-linenumber',
    rows: (root, height) => Math.floor(heightOf(root, '.CodeMirror-sizer') / height),
  },
];

const ROOTS = KINDS.map(({ root }) => root).join();
const FIELDS = /(?:^|\s)(?:native-edit-context|inputarea|ace_text-input|cm-content|CodeMirror-code)(?:\s|$)/;
const DRAWN =
  /(?:^|\s)(?:ace_(?:text-layer|gutter)|CodeMirror-(?:line|gutter-wrapper|measure|cursors))(?:\s|$)/;

/** What a code editor draws. */
export interface Drawn {
  text: string;
  /**
   * How many lines it has, or which of them are drawn: `8`, `1-40 of ~500` where others follow, `1-40+` where it is not known
   * how many, `461-500` at the end, `1-4,10-14` around folded ones, `1-90 folded` where many are.
   */
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
    if (tagOf(field) !== 'textarea' && !FIELDS.test(attribute(field, 'class'))) return undefined;
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
      const text = this.#textOf(line);
      if (lines.length > 0 && this.#kind.placed === true && numbers?.has(topOf(line)) === false)
        lines.push(lines.pop() + text.trimStart());
      else lines.push(text);
    }
    const listed = [...(numbers?.values() ?? lines.map((_, i) => i + 1))];
    const ranges = rangesOf(listed);
    const last = drawn.at(-1);
    if (last === undefined || !this.#goesOn(last)) {
      const isAll = (listed[0] ?? 1) === 1 && (listed.at(-1) ?? 1) <= lines.length;
      return { text: lines.join('\n'), lines: isAll ? `${lines.length}` : ranges.join() };
    }
    const height = Math.min(...drawn.map((line) => line.getBoundingClientRect().height));
    const rows = this.#kind.rows?.(this.root, height) ?? 0;
    return { text: lines.join('\n'), lines: ranges.join() + (rows > lines.length ? ` of ~${rows}` : '+') };
  }

  /** The text of a line. Rows behind its first are indented by the editor. */
  #textOf(line: Element): string {
    const rows = [...all(line, ':scope > .ace_line')];
    const text =
      rows.length === 0 ? this.#written(line) : rows.map((row, i) => this.#written(row, i > 0)).join('');
    return text.replaceAll('\u00a0', ' ');
  }

  #written(element: Element, isIndented = false): string {
    if (has(element, 'cm-text')) return attribute(element, 'cm-text'); // drawn as something else
    const { added } = this.#kind;
    if (added !== undefined && matches(element, added)) return '';
    let text = '';
    for (const [i, node] of element.childNodes.entries()) {
      if (isElement(node)) text += this.#written(node);
      else if (node instanceof Text && !(isIndented && i === 0 && /^\u00a0*$/.test(node.data)))
        text += node.data;
    }
    return text;
  }

  #ordered(selector: string): Element[] {
    const found = [...all(this.root, selector)];
    return this.#kind.placed === true ? found.sort((a, b) => topOf(a) - topOf(b)) : found;
  }

  /** The numbers of lines, by their places; undefined where they do not number each line. Those of folded ones are missing. */
  #numbers(): Map<number, number> | undefined {
    const numbers = new Map<number, number>();
    const isPlaced = this.#kind.placed === true;
    const lines = isPlaced ? this.#ordered(this.#kind.line).map(topOf) : [];
    let before = 0;
    for (const [at, element] of this.#ordered(this.#kind.number).entries()) {
      const number = Number.parseInt(element.textContent ?? '', 10);
      if (!(number > 0)) continue;
      if (number <= before) return undefined;
      const place = isPlaced ? topOf(element) : at;
      const [last = place] = [...numbers.keys()].slice(-1);
      const isSkipped = before > 0 && number > before + 1;
      if (isSkipped && lines.some((top) => top > last && top < place)) return undefined;
      numbers.set(place, number);
      before = number;
    }
    return numbers.size > 0 ? numbers : undefined;
  }

  /** Whether lines follow that are not drawn. */
  #goesOn(last: Element): boolean {
    const { gap } = this.#kind;
    if (gap !== undefined) return last.nextElementSibling !== null && matches(last.nextElementSibling, gap);
    return last.getBoundingClientRect().bottom > this.root.getBoundingClientRect().bottom + 1;
  }
}

/** How many ranges of lines are listed. */
const MOST_RANGES = 5;

/** Numbers that ascend, as ranges of those that follow each other: `1-4`, `10`. */
function rangesOf(numbers: readonly number[]): string[] {
  const ranges: [from: number, to: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range !== undefined && number === range[1] + 1) range[1] = number;
    else ranges.push([number, number]);
  }
  if (ranges.length > MOST_RANGES) return [`${numbers[0]}-${numbers.at(-1)} folded`];
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
}

function heightOf(root: Element, selector: string): number {
  return first(root, selector)?.getBoundingClientRect().height ?? 0;
}

/** Whether an element draws what is the value of a field elsewhere, or the numbers of its lines. */
export function isDrawnCode(element: Element): boolean {
  return DRAWN.test(attribute(element, 'class')) && closest(element, ROOTS) !== null;
}

/** Whether an element is a part of a code editor around what is drawn. */
export function isAroundCode(element: Element): boolean {
  return (
    closest(element, ROOTS) !== null &&
    first(element, '.view-lines, .ace_text-layer, .CodeMirror-code') !== null
  );
}

/** Where an element or its parent is placed, in px. */
function topOf(element: Element): number {
  for (const at of [element, parentOf(element)]) {
    const top = Number.parseFloat((at as HTMLElement | null)?.style.top ?? '');
    if (!Number.isNaN(top)) return top;
  }
  return 0;
}
