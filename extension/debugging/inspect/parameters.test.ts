import { type Node, type Pattern, parse } from 'acorn';
import { describe, expect, it } from 'vitest';
import { parameterNames } from './parameters';

describe('parameterNames', () => {
  const cases: [string, string[]][] = [
    ['() {}', []],
    ['(a, b) {}', ['a', 'b']],
    ['(a, b,) {}', ['a', 'b']],
    ['(a = 1, { b, c: [d, , e] = [], ...rest } = {}, ...[f]) {}', ['a', 'b', 'd', 'e', 'rest', 'f']],
    ['x => x', ['x']],
    ['async x => x', ['x']],
    ['async (x, y) => x', ['x', 'y']],
    ['(a /* , no */, // , neither\n b) {}', ['a', 'b']],
    ['(a = "),(", b = `$' + '{c + `}`},(`, d = /[/)]\\//g) {}', ['a', 'b', 'd']],
    ['(a = b / c, d = (e, f) / 2 / g, h) {}', ['a', 'd', 'h']],
    ['(a = (x, y) => { return x, y }, b = function (z) { if (z) /re)/.test(z); }) {}', ['a', 'b']],
    ['({ "first name": a, [b + "]"]: c, 3: d, e = 4 }) {}', ['a', 'c', 'd', 'e']],
    ['($, _, größe, \\u0061b) {}', ['$', '_', 'größe', '\\u0061b']],
    ['(a = typeof /x,/ , b = c++ / 2, d) {}', ['a', 'b', 'd']],
  ];
  it.each(cases)('reads %s', (source, names) => {
    expect(parameterNames(`function f${source}`, 'function f'.length)).toEqual(names);
  });

  it.each(['', 'x', '(', '(a', '(a = "', '(a, {b)', '(1)', '(a b)'])('does not guess at %j', (source) => {
    expect(parameterNames(source, 0)).toBeUndefined();
  });

  it('reads the functions of real code as a parser does', () => {
    let functions = 0;
    const wrong: string[] = [];
    for (const source of Object.values(sources)) {
      for (const { at, names } of functionsIn(source)) {
        functions++;
        const read = parameterNames(source, at)?.join();
        if (read !== names.join()) wrong.push(`${source.slice(at, at + 200)}: ${read}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(functions).toBeGreaterThan(4000);
  });
});

/** Code of packages that are there anyway, some of it minified. */
const sources = import.meta.glob<string>(
  [
    '../../../node_modules/acorn/dist/acorn.mjs',
    '../../../node_modules/preact/{dist,compat/dist,hooks/dist}/*.js',
    '../../../node_modules/react-dom/cjs/*.production.min.js',
    '../../../node_modules/vue/dist/vue.esm-browser*.js',
  ],
  { query: '?raw', import: 'default', eager: true },
);

interface Found {
  at: number;
  names: string[];
}

/** Where the parameters of each function begin, and what they are called. */
function functionsIn(source: string): Found[] {
  let tree: Node;
  try {
    tree = parse(source, { ecmaVersion: 'latest', sourceType: 'module' });
  } catch {
    tree = parse(source, { ecmaVersion: 'latest', sourceType: 'script' });
  }
  const found: Found[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) {
      node.forEach(visit);
      return;
    }
    const {
      type,
      params,
      id,
      start,
      async: waits,
    } = node as {
      type?: string;
      params?: Pattern[];
      id?: { end: number } | null;
      start: number;
      async?: boolean;
    };
    if (type !== undefined && params !== undefined && /Function/.test(type)) {
      const arrow = type === 'ArrowFunctionExpression';
      // As the browser does: at the bracket, or at the one name of an arrow function.
      const at = arrow ? start : source.indexOf('(', id?.end ?? start);
      const skip = arrow && waits === true ? 'async'.length : 0;
      found.push({ at: skip > 0 ? start : at, names: params.flatMap(namesOf) });
    }
    Object.values(node).forEach(visit);
  };
  visit(tree);
  return found;
}

function namesOf(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return namesOf(pattern.left);
    case 'RestElement':
      return namesOf(pattern.argument);
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : namesOf(element)));
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        namesOf(property.type === 'RestElement' ? property.argument : property.value),
      );
  }
  return [];
}
