/** Reads which names a function's parameters have, from where its list of parameters begins in the source. */

/** Names of the parameters, also those in patterns; undefined when the source cannot be read. */
export function parameterNames(source: string, at: number): string[] | undefined {
  try {
    const list = new Parameters(source, at);
    return list.names();
  } catch {
    return undefined;
  }
}

const SPACE = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const NAME = /[\p{ID_Start}$_\\](?:[\p{ID_Continue}$\u200c\u200d]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})*/uy;
const NUMBER = /(?:0[xob][\da-f_]+n?|(?:\d[\d_]*)?\.?\d[\d_]*(?:e[+-]?\d+)?n?|\d[\d_]*\.?)/iy;
export const STRING = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
export const REGEXP = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const ARROW = /=>/y;
/** Words after which a slash begins a regular expression. */
export const OPERATORS = new Set([
  'typeof',
  'void',
  'delete',
  'in',
  'instanceof',
  'new',
  'await',
  'yield',
  'return',
  'case',
  'do',
  'else',
  'throw',
]);

/** Words whose brackets are followed by a statement. */
const CONTROL = new Set(['if', 'while', 'for', 'with']);

class Parameters {
  readonly #source: string;
  #at: number;
  readonly #names: string[] = [];

  constructor(source: string, at: number) {
    this.#source = source;
    this.#at = at;
  }

  names(): string[] {
    this.#space();
    // What begins before its list: `async x => …`, `async (x) => …`, and methods by their name.
    if (this.#char() !== '(') {
      const word = this.#match(NAME);
      if (word === undefined) throw new Error('no parameters');
      this.#space();
      if (this.#looking(ARROW)) return [word];
      if (word !== 'async') throw new Error('no parameters');
      if (this.#char() !== '(') {
        const name = this.#match(NAME);
        this.#space();
        if (name === undefined || !this.#looking(ARROW)) throw new Error('no parameters');
        return [name];
      }
    }
    this.#list('(', ')', () => this.#element());
    return this.#names;
  }

  #char(): string {
    return this.#source[this.#at] ?? '';
  }

  #looking(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#source);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #space(): void {
    this.#match(SPACE);
  }

  #expect(char: string): void {
    if (this.#char() !== char) throw new Error(`no ${char}`);
    this.#at++;
    this.#space();
  }

  #list(open: string, close: string, element: () => void): void {
    this.#expect(open);
    while (this.#char() !== close) {
      if (this.#char() !== ',') element();
      if (this.#char() === ',') this.#expect(',');
      else if (this.#char() !== close) throw new Error('no comma');
    }
    this.#expect(close);
  }

  /** A name or a pattern, perhaps with a default. */
  #element(): void {
    if (this.#source.startsWith('...', this.#at)) {
      this.#at += 3;
      this.#space();
    }
    switch (this.#char()) {
      case '[':
        this.#list('[', ']', () => this.#element());
        break;
      case '{':
        this.#list('{', '}', () => this.#property());
        break;
      default: {
        const name = this.#match(NAME);
        if (name === undefined) throw new Error('no name');
        this.#names.push(name);
        this.#space();
      }
    }
    this.#default();
  }

  #property(): void {
    if (this.#source.startsWith('...', this.#at)) {
      this.#element();
      return;
    }
    const start = this.#char();
    let name: string | undefined;
    if (start === '[') this.#balanced();
    else if (start === '"' || start === "'") this.#match(STRING);
    else {
      name = this.#match(NAME);
      if (name === undefined) this.#match(NUMBER);
    }
    this.#space();
    if (this.#char() === ':') {
      this.#expect(':');
      this.#element();
      return;
    }
    if (name === undefined) throw new Error('no target');
    this.#names.push(name);
    this.#default();
  }

  #default(): void {
    if (this.#char() !== '=') return;
    this.#expect('=');
    this.#expression();
  }

  /** Passes over an expression, up to the comma or the bracket that ends it. */
  #expression(): void {
    // Whether a slash divides: after a value it does.
    let value = false;
    let word: string | undefined;
    for (;;) {
      const before = word;
      word = undefined;
      this.#space();
      const char = this.#char();
      if (char === '') throw new Error('no end');
      if (char === ',' || char === ')' || char === ']' || char === '}') return;
      if (char === '(' || char === '[' || char === '{') {
        this.#balanced();
        value = !CONTROL.has(before ?? '');
      } else if (char === '"' || char === "'") {
        if (this.#match(STRING) === undefined) throw new Error('no end');
        value = true;
      } else if (char === '`') {
        this.#template();
        value = true;
      } else if (char === '/' && !value) {
        if (this.#match(REGEXP) === undefined) throw new Error('no end');
        value = true;
      } else {
        word = this.#match(NAME);
        if (word !== undefined) value = !OPERATORS.has(word);
        else if (/[\d.]/.test(char) && this.#match(NUMBER) !== undefined) value = true;
        else {
          const two = this.#source.slice(this.#at, this.#at + 2);
          // A value is incremented: it still is one.
          if (two === '++' || two === '--') this.#at += 2;
          else {
            this.#at += two === '=>' ? 2 : 1;
            value = false;
          }
        }
      }
    }
  }

  /** Passes over brackets and what is between them. */
  #balanced(): void {
    this.#at++;
    for (;;) {
      this.#expression();
      const char = this.#char();
      this.#at++;
      if (char !== ',') return;
    }
  }

  #template(): void {
    this.#at++;
    for (;;) {
      const char = this.#char();
      if (char === '') throw new Error('no end');
      if (char === '\\') this.#at += 2;
      else if (char === '`') {
        this.#at++;
        return;
      } else if (char === '$' && this.#source[this.#at + 1] === '{') {
        this.#at++;
        this.#balanced();
      } else this.#at++;
    }
  }
}
