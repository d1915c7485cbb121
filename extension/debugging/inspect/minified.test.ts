import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { isMinified } from './minified';

/** Code that people wrote, file by file. */
const written = Object.entries(
  import.meta.glob<string>(
    [
      '../../{capture,content,page,background}/**/*.ts',
      '../../../node_modules/acorn/dist/acorn.mjs',
      '../../../node_modules/vue/dist/vue.esm-browser.js',
      '!../../**/*.test.ts',
    ],
    { query: '?raw', import: 'default', eager: true },
  ),
);

/** Code that is minified where it is published. */
const published = Object.entries(
  import.meta.glob<string>(
    [
      '../../../node_modules/preact/{dist,compat/dist,hooks/dist}/*.js',
      '../../../node_modules/react-dom/cjs/*.production.min.js',
      '../../../node_modules/vue/dist/vue.esm-browser.prod.js',
    ],
    { query: '?raw', import: 'default', eager: true },
  ),
);

/** Offsets in a source at which functions and blocks begin, as the debugger names them. */
function* places(source: string): Generator<number> {
  for (const { index } of source.matchAll(/(?<=\bfunction \w+)\(|(?<=\) ?)\{/g)) yield index;
}

/** The places of sources that are, or are not, taken for minified, each with the code there. */
function taken(sources: Iterable<[name: string, source: string]>, minified: boolean): string[] {
  const found: string[] = [];
  let all = 0;
  for (const [name, source] of sources) {
    for (const at of places(source)) {
      all++;
      if (isMinified(source, at) === minified) found.push(`${name}: ${source.slice(at - 50, at + 100)}`);
    }
  }
  expect(all).toBeGreaterThan(1000);
  return found;
}

test('code that people wrote is taken for that', () => {
  expect(taken(written, true)).toEqual([]);
});

test('code that is published minified is recognized', () => {
  expect(taken(published, false)).toEqual([]);
});

test('the same code is recognized after it was minified', () => {
  const minified = written.map(([name, source]): [string, string] => {
    const loader = name.endsWith('.ts') ? 'ts' : 'js';
    return [name, transformSync(source, { loader, minify: true, format: 'esm' }).code];
  });
  expect(taken(minified, false)).toEqual([]);
});

const LOGIN = `export function login(user) {
  let password = 'plainTextSecretValue';
  let apiKey = 'anotherHiddenValue99';
  const inner = (token) => {
    console.log('inner, of ' + user, token.length, password.length, apiKey.length);
    return token + password + apiKey;
  };
  return inner('closureTokenValue42') + user;
}
window.doLogin = () => login('ada');
`;

test.each([
  transformSync(LOGIN, { minify: true }).code,
  '(()=>{let t="plainTextSecretValue";debugger})()',
  // with a line for each statement
  'export function login(e){let t="plainTextSecretValue"\nlet n="another"\nconst o=a=>a+t+n\nreturn o(e)}\nwindow.doLogin=()=>login("ada")',
])('a little code is recognized as well as a lot: %s', (code) => {
  for (const at of places(code)) expect(isMinified(code, at)).toBe(true);
});

test.each([
  LOGIN,
  'for (let i = 0; i < n; i++) {\n  const s = names[i];\n  debugger;\n}',
  'function add(a, b) { return a + b }',
  'for (var i=0; i<n; i++) {\n\tvar s = a[i];\n\tdebugger;\n}\n',
  "const s = 'a,b;c=d';\nconst t = [1,2,3,4,5,6];\n",
  "let t = 'plain';\ndebugger;",
  'document.title = "x";',
  '\n',
  '\n\ndebugger',
  '',
])('code with short names is as a person wrote it: %s', (code) => {
  for (let at = 0; at <= code.length; at++) expect(isMinified(code, at)).toBe(false);
});
