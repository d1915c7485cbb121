import type { Protocol } from 'devtools-protocol';
import { expect, test } from 'vitest';
import { STACK_DEPTH } from '../page/records';
import { MaxStack } from '../protocol';
import {
  allFrames,
  causeLines,
  errorFrames,
  type Frame,
  frameLine,
  initiatorLines,
  parseStack,
} from './stack';

const frame = (functionName: string, url: string, lineNumber = 0): Protocol.Runtime.CallFrame => ({
  functionName,
  scriptId: '1',
  url,
  lineNumber,
  columnNumber: 4,
});
const own = frame('load', 'http://localhost:5173/src/api.ts?t=17', 11);
const line = 'load (http://localhost:5173/src/api.ts?t=17:12:5)';

test.each([
  'http://localhost:5173/node_modules/.vite/deps/axios.js?v=1a2b3c',
  'http://localhost:5173/@fs/home/ann/shop/node_modules/react/index.js',
  'http://localhost:4200/@fs/home/ann/shop/.angular/cache/20.3.1/shop/vite/deps/chunk-GX5KVZ4R.js?v=1a2b3c4d',
  'http://localhost:5173/@vite/client',
  'http://localhost:5173/@react-refresh',
  'webpack-internal:///(app-pages-browser)/./node_modules/next/dist/client/index.js',
  'http://localhost:3000/_next/static/chunks/node_modules_next_dist_1a2b._.js',
  'http://localhost:3000/_next/static/chunks/framework-2c79e2a64abdb08b.js',
  'http://localhost:3000/_next/static/chunks/main-app.js?v=1',
  'http://localhost:8080/js/chunk-vendors.3f1a9c.js',
  'http://localhost:4200/vendor.js',
  'http://localhost:4200/polyfills-5CFQRCPP.js',
  'https://unpkg.com/vue@3/dist/vue.global.js',
  'http://localhost:3000/socket.io/socket.io.min.js',
  'chrome-extension://abc/inject.js',
  'tidemark-page.js',
])('left out beside the page’s own code: %s', (url) => {
  expect(causeLines([frame('get', url), own])).toEqual([line]);
});

test.each([
  'http://localhost:5173/src/vendors.ts',
  'http://localhost:5173/src/pages/main.tsx',
  'http://localhost:3000/_next/static/chunks/app/page-1a2b.js',
  'http://localhost:4200/main.js',
  'http://localhost:5173/assets/index-CqW3X1.js',
  'http://localhost:5173/src/node_module.ts',
])('the page’s own code: %s', (url) => {
  expect(causeLines([frame('get', url), own])).toEqual([`get (${url}:1:5)`, line]);
});

test('a library that nothing of the page called is named itself', () => {
  const url = 'http://localhost/node_modules/poll/index.js';
  expect(causeLines([frame('tick', url)])).toEqual([`tick (${url}:1:5)`]);
});

test('the page’s own code below many frames of libraries, as many lines as are kept', () => {
  const deep = Array.from({ length: 60 }, (_, n) => frame(`f${n}`, 'http://localhost/node_modules/x.js'));
  const many = Array.from({ length: 20 }, () => own);
  expect(causeLines([...deep, own])).toEqual([line]);
  expect(causeLines([...deep, ...many])).toHaveLength(MaxStack);
});

test('the code that called a script of an unknown name, deep above it', () => {
  const client = (n: number) => frame(`f${n}`, 'http://localhost/lib/client.js', n);
  const deep = Array.from({ length: 60 }, (_, n) => client(n));
  const after = [client(60), client(61)];
  const lines = causeLines([...deep, own, ...after]);
  expect(lines).toHaveLength(MaxStack);
  expect(lines.slice(-2)).toEqual([line, 'f60 (http://localhost/lib/client.js:61:5)']);
  expect(lines[0]).toBe('f0 (http://localhost/lib/client.js:1:5)');
});

test('files that call each other in a loop do not displace the innermost frames', () => {
  const frame = (functionName: string, file: string, lineNumber: number): Frame => ({
    functionName,
    url: `http://localhost/${file}.js`,
    lineNumber,
    columnNumber: 1,
  });
  const rounds = Array.from({ length: MaxStack }, () => [
    frame('load', 'list', 5),
    frame('run', 'async', 7),
  ]).flat();
  const lines = causeLines([
    frame('send', 'api', 1),
    frame('request', 'api', 2),
    frame('list', 'api', 3),
    ...rounds,
    frame('start', 'main', 9),
  ]);
  expect(lines).toHaveLength(MaxStack);
  expect(lines.slice(0, 5).map((line) => line.split(' ')[0])).toEqual([
    'send',
    'request',
    'list',
    'load',
    'run',
  ]);
  expect(lines.at(-1)).toContain('start');
});

test('the code that scheduled it follows', () => {
  const stack = { callFrames: [own], parent: { description: 'await', callFrames: [frame('show', own.url)] } };
  expect([...allFrames(stack)].map(({ functionName }) => functionName)).toEqual(['load', 'show']);
  expect(initiatorLines({ type: 'script', stack })).toEqual([
    line,
    'show (http://localhost:5173/src/api.ts?t=17:1:5)',
  ]);
});

test('what scheduled a stack of libraries that was cut off is named, and where own code is in it, nothing further', () => {
  const deep = Array.from({ length: STACK_DEPTH }, () => frame('get', 'http://localhost/node_modules/x.js'));
  const parent = { description: 'await', callFrames: [own] };
  const inner = frame('show', 'http://localhost:5173/src/Cart.tsx', 2);
  const innerLine = 'show (http://localhost:5173/src/Cart.tsx:3:5)';
  const lines = (callFrames: Protocol.Runtime.CallFrame[], by: Protocol.Runtime.StackTrace = parent) =>
    initiatorLines({ type: 'script', stack: { callFrames, parent: by } });
  expect(lines(deep.slice(1))).toEqual([line]);
  expect(lines(deep)).toEqual([line]);
  expect(lines(deep, { callFrames: deep, parent })).toEqual([line]);
  // The caller of this code is in the missing part.
  expect(lines([...deep.slice(1), inner])).toEqual([innerLine]);
  expect(lines([inner], { callFrames: deep, parent })).toEqual([innerLine]);
  expect(errorFrames({ callFrames: deep, parent })).toEqual([own]);
});

test('what the parser or an import asked for has one line, what the browser did has none', () => {
  const url = 'http://localhost/shop?token=abc123def456';
  expect(initiatorLines({ type: 'parser', url, lineNumber: 6, columnNumber: 2 })).toEqual([
    '(document) (http://localhost/shop?token=[masked]:7:3)',
  ]);
  expect(initiatorLines({ type: 'script', url: 'http://localhost/a.js', lineNumber: 0 })).toEqual([
    '(module) (http://localhost/a.js:1:1)',
  ]);
  expect(initiatorLines({ type: 'other' })).toBeUndefined();
  expect(initiatorLines(undefined)).toBeUndefined();
});

test('names and addresses are bounded, and no secret of an address is cut in two', () => {
  const data = frameLine({ ...own, url: `data:text/javascript,${'x'.repeat(100_000)}` });
  expect(data).toBe('load (data:text/javascript:12:5)');
  const long = frameLine({ ...own, url: `http://localhost/a.js?token=${'s'.repeat(1000)}` });
  expect(long).toBe('load (http://localhost/a.js:12:5)');
  expect(frameLine({ ...own, functionName: 'f'.repeat(10_000) }).length).toBeLessThan(300);
});

test('stacks in V8’s own writing', () => {
  const at = (text: string): [string, string, number][] =>
    parseStack(text).map((f: Frame) => [f.functionName, f.url, f.lineNumber + 1]);
  expect(
    at(`Error: x
    at load (http://localhost/app.js:2:9)
    at async Axios.request (http://localhost/node_modules/axios.js:40:1)
    at async http://localhost/app.js:7:3
    at new Cart (http://localhost/cart.js:3:1)
    at async Promise.all (index 0)
    at Array.map (<anonymous>)
    at eval (eval at noise (http://localhost/forge.html:14:10), <anonymous>:1:30)
    at f (eval at g (eval at noise (http://localhost/forge.html:15:10), <anonymous>:1:30), <anonymous>:2:3)
    at eval (eval at <anonymous> (:1:1), <anonymous>:1:30)
    at http://localhost/app.js:9:1`),
  ).toEqual([
    ['load', 'http://localhost/app.js', 2],
    ['Axios.request', 'http://localhost/node_modules/axios.js', 40],
    ['', 'http://localhost/app.js', 7],
    ['Cart', 'http://localhost/cart.js', 3],
    ['', 'http://localhost/app.js', 9],
  ]);
});

test('the cause has where its functions wait', () => {
  const stack = `Error
    at send (http://localhost/http.js:2:9)
    at async list (http://localhost/app.js:7:3)
    at async http://localhost/app.js:9:1`;
  expect(causeLines(parseStack(stack))).toEqual([
    'send (http://localhost/http.js:2:9)',
    'async list (http://localhost/app.js:7:3)',
    'async (anonymous) (http://localhost/app.js:9:1)',
  ]);
});

test('an error that only libraries’ code is at is at the code of the page’s own that scheduled it', () => {
  const inner = frame('throwOnMismatch', 'http://localhost/node_modules/.vite/deps/react-dom_client.js');
  const library = { callFrames: [inner], parent: { description: 'await', callFrames: [inner] } };
  expect(errorFrames(library)).toEqual([inner]);
  expect(errorFrames({ ...library, parent: { callFrames: [], parent: { callFrames: [own] } } })).toEqual([
    own,
  ]);
  expect(errorFrames({ callFrames: [inner, own], parent: { callFrames: [own] } })).toEqual([inner, own]);
  expect(errorFrames(undefined)).toBeUndefined();
});
