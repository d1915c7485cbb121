import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bindingsOf, placesOf, translated } from './bindings';

test('a name is found where it may be that of a variable', () => {
  const source = 'function f(a,{a:b,...c}){let d=a.b;return{a:d,c}}';
  const at = placesOf(source, new Set(['a', 'b', 'c', 'd']), 0, source.length);
  const around = (name: string): string[] => (at.get(name) ?? []).map((i) => source.slice(i - 1, i + 2));
  expect(around('a')).toEqual(['(a,', '=a.']);
  expect(around('b')).toEqual([':b,']);
  expect(around('c')).toEqual(['.c}', ',c}']);
  expect(around('d')).toEqual([' d=', ':d,']);
});

test('the places of a variable come before those of others that functions within call the same', () => {
  const first = (source: string, name: string): string => {
    const [at = -1] = placesOf(source, new Set([name]), 0, source.length).get(name) ?? [];
    return source.slice(0, at);
  };
  const code = 'function e(e,t,n){return"}"+/[/"]}/.exec(e)+t}var r=t=>t/2,t=1,n=[`}$' + '{(n=>n)(2)}`];';
  expect(first(code, 'e')).toBe('function ');
  expect(first(code, 't').endsWith('=>t/2,')).toBe(true);
  expect(first(code, 'n').endsWith('t=1,')).toBe(true);
  const often = `${'(e=>e)(1);'.repeat(50)}var e=2`;
  expect(first(often, 'e').endsWith('var ')).toBe(true);
});

test('a variable is masked by every name that it may have had', () => {
  const known = new Map([
    ['a', ['user', 'password']],
    ['b', ['', 'index']],
  ]);
  const all = bindingsOf(['a', 'b', 'c', 'apiKey'], known, true);
  expect(all.get('a')).toEqual({ generated: 'a', name: 'user', secret: true, doubtful: false });
  expect(all.get('b')).toEqual({ generated: 'b', name: 'index', secret: false, doubtful: false });
  expect(all.get('c')).toEqual({ generated: 'c', name: 'c', secret: false, doubtful: false });
  expect(all.get('apiKey')).toMatchObject({ name: 'apiKey', secret: true });
});

test('of shortened code without a map a short name is doubtful', () => {
  const doubtful = (minified: boolean): boolean[] =>
    [...bindingsOf(['a', 'ab', 'abc'], undefined, minified).values()].map(({ doubtful }) => doubtful);
  expect(doubtful(true)).toEqual([true, true, false]);
  expect(doubtful(false)).toEqual([false, false, false]);
});

test('an expression tells of a secret whatever stands around the name of one', () => {
  const bindings = [...bindingsOf(['a', 'b'], new Map([['a', ['password']]]), true).values()];
  expect(translated('b + a', bindings)).toContain('password');
  expect(translated('b.a', bindings)).toBe('b.a');
});

/** Whatever the names and the code are: no place outside of the range, each is that of the name. */
test('places are those of names', () => {
  const code = fc.string({
    unit: fc.constantFrom('a', 'b', '$', '.', ',', '{', ':', ' ', '\n', '"', '(', ')'),
  });
  fc.assert(
    fc.property(code, fc.nat(20), fc.nat(40), (source, from, length) => {
      const names = new Set(['a', 'b', 'ab', '$a']);
      for (const [name, at] of placesOf(source, names, from, from + length)) {
        for (const i of at) {
          expect(source.slice(i, i + name.length)).toBe(name);
          expect(i >= from && i < from + length).toBe(true);
        }
      }
    }),
  );
});
