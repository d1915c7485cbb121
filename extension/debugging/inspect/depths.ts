/** How deep the parts of a source are nested, as far as that can be known without parsing it. */
import { OPERATORS, REGEXP, STRING } from './parameters';

/** The depth from an offset on. */
export interface Depth {
  readonly at: number;
  readonly depth: number;
}

/** A text in a string, a comment or a regular expression is deeper than all code. */
const TEXT_DEPTH = 1e6;

const SPACE = /\s+/y;
const COMMENT = /\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\//y;
const WORD = /[\p{ID_Continue}$\u200c\u200d]+/uy;
const ARROW_AHEAD = /\s*=>/y;
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;
/** Words that begin a statement, so that the function before them has ended. */
const STATEMENTS = new Set(['var', 'let', 'const', 'import', 'export']);
const OPENERS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** The depths of a source between two offsets, in order. Brackets nest, and so do arrow functions without any. */
export function* depthsOf(source: string, from: number, to: number): Generator<Depth> {
  const open: string[] = [];
  let at = from;
  let value = false; // whether a slash divides
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  const endArrows = (): void => {
    while (open.at(-1) === '=>') open.pop();
  };
  const text = function* (length: number): Generator<Depth> {
    yield { at, depth: TEXT_DEPTH };
    at += length;
    yield { at, depth: open.length };
  };
  const template = function* (): Generator<Depth> {
    yield* text((match(TEMPLATE) ?? '').length);
    if (source.startsWith('${', at)) {
      open.push('`');
      at += 2;
      value = false;
    } else {
      at++;
      value = true;
    }
    yield { at, depth: open.length };
  };
  while (at < to) {
    const char = source[at] as string;
    const space = match(SPACE);
    const word = space === undefined ? match(WORD) : undefined;
    if (space !== undefined) at += space.length;
    else if (word !== undefined) {
      if (STATEMENTS.has(word)) endArrows();
      value = !OPERATORS.has(word);
      const start = at;
      at += word.length;
      if (match(ARROW_AHEAD) !== undefined) open.push('=>');
      yield { at: start, depth: open.length };
    } else if (char === '/') {
      const comment = match(COMMENT);
      const passed = comment ?? (value ? undefined : match(REGEXP));
      if (passed === undefined) {
        at++;
        value = false;
      } else {
        yield* text(passed.length);
        value ||= comment === undefined;
      }
    } else if (char === '"' || char === "'") {
      yield* text((match(STRING) ?? char).length);
      value = true;
    } else if (char === '`') {
      at++;
      yield* template();
    } else if (source.startsWith('=>', at)) {
      at += 2;
      value = false;
      if (open.at(-1) !== '=>' || source[at - 3] === ')') open.push('=>');
      yield { at, depth: open.length };
    } else {
      at++;
      if ('([{'.includes(char)) {
        open.push(char);
        value = false;
      } else if (char === ')' || char === ']' || char === '}') {
        endArrows();
        const top = open.at(-1);
        if (char === '}' && top === '`') {
          open.pop();
          yield* template();
          continue;
        }
        if (top === OPENERS[char]) open.pop();
        value = true;
      } else {
        if (char === ',' || char === ';') endArrows();
        value = false;
      }
      yield { at, depth: open.length };
    }
  }
}

/** Whether the code at an offset is in a text, where code begins at another offset before it. */
export function isText(source: string, from: number, at: number): boolean {
  let text = false;
  for (const next of depthsOf(source, from, at)) {
    if (next.at > at) break;
    text = next.depth === TEXT_DEPTH;
  }
  return text;
}

/** The code between two offsets, with nothing in its strings and regular expressions, and without comments. */
export function codeOf(source: string, from: number, to: number): string {
  let code = '';
  let at = from;
  let text = false;
  const add = (until: number): void => {
    if (!text) code += source.slice(at, until);
    else if (!/^\/[/*]/.test(source.slice(at, at + 2))) code += '""';
  };
  for (const next of depthsOf(source, from, to)) {
    if (next.at > at) add(Math.min(next.at, to));
    text = next.depth === TEXT_DEPTH;
    at = Math.max(at, next.at);
  }
  if (at < to) add(to);
  return code;
}
