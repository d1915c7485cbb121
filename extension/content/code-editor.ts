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
  /** Only draws, and passes on what is typed: what is pasted would come twice, and nothing can be selected by keys. */
  passes?: true;
  /** What the editor adds to the text of a line. */
  added?: string;
  /** How high the lines are, in px, that stand before the first one drawn; NaN where the page does not show that. */
  before: (root: Element, first: Element) => number;
  /** How many lines of that height, in px, all lines are together: at least, and at most. */
  rows: (root: Element, height: number) => Rows;
}

type Rows = [least: number, most: number];

const exactly = (rows: number): Rows => [rows, rows];

/** Up to which height an element is as high as all lines, in px: the browser draws none that are much higher. */
const MOST_OF_MONACO = 1_000_000;
const MOST_OF_ACE = 32_768;
const MOST_OF_CODEMIRROR = 7_000_000;

/** How many rows are as high as an element, which is no higher than some px. */
const rowsIn = (root: Element, selector: string, height: number, most: number): Rows => {
  const all = heightOf(root, selector);
  const rows = Math.floor((all + 0.5) / height);
  return all < most ? exactly(rows) : [rows, Number.POSITIVE_INFINITY];
};

/** As high as all lines, also after the text changed: the margin around it follows only when the view is scrolled. */
const MARGIN = ':scope > .overflow-guard > .margin > .margin-view-overlays';
const ACE_SCROLLED = '.ace_scrollbar-v';
const ACE_LENGTH = `${ACE_SCROLLED} > .ace_scrollbar-inner`;

const KINDS: readonly Kind[] = [
  {
    root: '.monaco-editor',
    field: '.native-edit-context, .inputarea',
    // Elsewhere are lines of other editors, and those that a comparison shows as deleted.
    line: ':scope > .overflow-guard > .monaco-scrollable-element > .lines-content > .view-lines > .view-line',
    number: `${MARGIN} .line-numbers`,
    placed: true,
    before: (root, line) => (heightOf(root, MARGIN) >= MOST_OF_MONACO ? Number.NaN : topOf(line)),
    rows: rowsOfMonaco,
    added: '[class*=ghost-text], [class*=dyn-rule]',
  },
  {
    root: '.ace_editor',
    field: '.ace_text-input',
    line: '.ace_text-layer > .ace_line, .ace_text-layer > .ace_line_group',
    // One that is hidden is drawn now and then, and numbers other lines.
    number: '.ace_gutter:not([style*="display: none"]) .ace_gutter-cell',
    before: (root, line) => {
      const { height } = line.getBoundingClientRect();
      const isCapped = heightOf(root, ACE_LENGTH) >= MOST_OF_ACE;
      return isCapped
        ? Number.NaN
        : Math.floor((first(root, ACE_SCROLLED)?.scrollTop ?? 0) / height) * height;
    },
    rows: (root, height) => rowsIn(root, ACE_LENGTH, height, MOST_OF_ACE),
  },
  {
    root: '.cm-editor',
    field: '.cm-content',
    line: '.cm-line',
    number: '.cm-lineNumbers .cm-gutterElement:not([style*=hidden])',
    gap: '.cm-gap',
    before: (root) => heightOf(root, '.cm-content > .cm-gap:first-child'),
    rows: (root, height) => rowsIn(root, '.cm-content', height, MOST_OF_CODEMIRROR),
  },
  {
    root: '.CodeMirror',
    field: '.CodeMirror > div > textarea, .CodeMirror-code[contenteditable]',
    line: '.CodeMirror-code > .CodeMirror-line, .CodeMirror-code > div > .CodeMirror-line',
    number: '.CodeMirror-code .CodeMirror-linenumber',
    before: (root) => topOf(first(root, '.CodeMirror-lines')?.parentElement ?? root),
    rows: (root, height) => rowsIn(root, '.CodeMirror-sizer', height, Number.POSITIVE_INFINITY),
  },
  {
    // A terminal: nothing tells how much stands above. Where it draws on a canvas, there are no rows to read.
    root: '.xterm:has(> * .xterm-rows > div)',
    field: '.xterm-helper-textarea',
    line: '.xterm-rows > div',
    number: ':not(*)',
    passes: true,
    before: () => Number.NaN,
    rows: () => [0, Number.POSITIVE_INFINITY],
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
   * How many lines it has, or which of them are drawn: `8`, `1-40 of ~500` where others follow, `1-40 of ~485-500` where their
   * height may contain an empty view, `1-40+` where it is not known how many, `461-500` at the end, `~461-500` without
   * numbers, `40+` where it is not known which, `1-4,10-14` around folded ones, `1-90 folded` where many are.
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

  /** Whether it is a terminal: its text is not the user's. */
  get passes(): boolean {
    return this.#kind.passes === true;
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
    while (this.passes && lines.at(-1)?.trim() === '') lines.pop(); // rows that wait for output
    const [top, last] = [drawn[0], drawn.at(-1)];
    if (top === undefined || last === undefined) return { text: '', lines: '0' };
    const height = Math.min(...drawn.map((line) => line.getBoundingClientRect().height));
    const before = this.#kind.before(this.root, top);
    const skipped = numbers === undefined ? Math.round(before / height) : 0;
    const numbered = [...(numbers?.values() ?? lines.map((_, i) => skipped + i + 1))];
    // A gutter that is not shown may number more than is drawn.
    const listed = this.#kind.placed === true ? numbered : numbered.slice(0, lines.length);
    if (Number.isNaN(skipped)) return { text: lines.join('\n'), lines: `${lines.length}+` };
    // Fewer than stand before it: lines above are wrapped, or these are their distances from the cursor.
    const [lowest = 1] = listed;
    const isLess = this.#kind.placed === true && lowest > 1 && lowest <= Math.floor(before / height + 0.01);
    const ranges = `${skipped > 0 || isLess ? '~' : ''}${rangesOf(listed).join()}`;
    const [least, most] = this.#kind.rows(this.root, height);
    if (!this.#goesOn(top, last, before, [least * height, most * height])) {
      const isAll = (listed[0] ?? 1) === 1 && (listed.at(-1) ?? 1) <= lines.length;
      return { text: lines.join('\n'), lines: isAll ? `${lines.length}` : ranges };
    }
    return { text: lines.join('\n'), lines: ranges + sumOf([Math.max(least, listed.at(-1) ?? 0), most]) };
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

  /** Whether lines follow that are not drawn, by how high all are at least and at most, in px. */
  #goesOn(first: Element, last: Element, before: number, [least, most]: Rows): boolean {
    const { gap } = this.#kind;
    if (gap !== undefined) return last.nextElementSibling !== null && matches(last.nextElementSibling, gap);
    const { bottom, height } = last.getBoundingClientRect();
    const room = this.root.getBoundingClientRect().bottom - bottom;
    if (room < -1) return true;
    const end = before + bottom - first.getBoundingClientRect().top + height / 2;
    return least > end || (most > end && room < height);
  }
}

/** How many lines there are in all; `+` where that is not known. */
function sumOf([least, most]: Rows): string {
  if (most === Number.POSITIVE_INFINITY) return ` of ~${least}+`;
  if (least > most) return '+';
  return ` of ~${least === most ? most : `${least}-${most}`}`;
}

/**
 * Monaco's margin is as high as all lines, and by default as the view without a line, so that the last line can be scrolled
 * to the top. Which it is shows where only one of both is a whole number of lines.
 */
function rowsOfMonaco(root: Element, height: number): Rows {
  const margin = heightOf(root, MARGIN);
  const view = heightOf(root, ':scope > .overflow-guard');
  if (margin >= MOST_OF_MONACO) return [Math.floor((margin - view) / height), Number.POSITIVE_INFINITY];
  if (margin <= view) return [0, 0];
  const all = margin / height;
  const fewer = (margin - view) / height + 1;
  if (isWhole(all) !== isWhole(fewer)) return exactly(Math.round(isWhole(all) ? all : fewer));
  return [Math.floor(fewer), Math.floor(all)];
}

function isWhole(number: number): boolean {
  return Math.abs(number - Math.round(number)) < 0.01;
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
