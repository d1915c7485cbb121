import { expect, test } from 'vitest';
import { creates } from './function-code';

const said = (line: number, column?: number): string =>
  `{ fileName: "/shop/App.jsx", lineNumber: ${line}${column === undefined ? '' : `, columnNumber: ${column}`} }`;
const at = (code: string, line: number, column?: number): string => {
  const index = creates(code, line, column);
  return index < 0 ? '' : code.slice(index, index + 3);
};

test('a call that creates an element is found by the line that it says', () => {
  const inner = `jsxDEV("i", { className: "inner" }, void 0, false, ${said(38, 7)}, this)`;
  const code = `function App() { return jsxDEV("main", { children: [ jsxDEV("b", {}, void 0, false, ${said(37, 9)}, this), ${inner} ] }, void 0, true, ${said(37, 5)}, this) }`;
  expect(at(code, 37, 5)).toBe('"ma');
  expect(at(code, 37, 9)).toBe('"b"');
  expect(at(code, 38, 7)).toBe('"i"');
  expect(at(code, 38, 8)).toBe('');
  expect(at(code, 38)).toBe('');
  expect(at(code.replaceAll('jsxDEV(', '(0,runtime.jsxDEV)(').replaceAll(/\s/g, ''), 38, 7)).toBe('"i"');
});

test('a call with its saying before its children', () => {
  const code = `() => { const x = document.createElement('u'); return React.createElement("a", { icon: React.createElement("b", { __source: ${said(2)} }), __source: ${said(3)} }, React.createElement("c", { __source: ${said(4)} })) }`;
  expect(at(code, 3)).toBe('"a"');
  expect(at(code, 2)).toBe('"b"');
  expect(at(code, 4)).toBe('"c"');
});

test('code that closes what it did not open is no reason to stop', () => {
  const code = `() => [${said(1, 1)}, jsxDEV("a", {}, void 0, false, ${said(1, 1)})]`;
  expect(at(code, 1, 1)).toBe('"a"');
  expect(at('lineNumber:'.repeat(40_000) + ' '.repeat(40_000), 1, 1)).toBe('');
  expect(at('', 1, 1)).toBe('');
});
