// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { fold, MAX_TEXT, shorten } from './element';

test('white space and the letters of icon fonts are folded', () => {
  expect(fold(' a\n\t b  c\uf078 ')).toBe('a b c');
  expect(fold('a\u200bb\ufeffc\u00add \u200b\uf078\u200b')).toBe('abcd');
});

test('where a word may be divided is not shown', () => {
  expect(fold('co\u00adoperate')).toBe('cooperate');
});

test('what is too long is cut, and a change behind the cut still shows', () => {
  const long = 'x'.repeat(MAX_TEXT + 500);
  const one: number[] = [];
  const two: number[] = [];
  expect(shorten(`${long}a`, one, 0)).toBe('x'.repeat(MAX_TEXT));
  expect(shorten(`${long}b`, two, 0)).toBe('x'.repeat(MAX_TEXT));
  expect(one[0]).toBe(MAX_TEXT + 501);
  expect(one[1]).not.toBe(two[1]);
});

test('a cut leaves no half of a character', () => {
  const text = `${'x '.repeat(MAX_TEXT).slice(0, MAX_TEXT - 1)}🎉 and more`;
  expect(shorten(text, [], 0)).toBe('x '.repeat(MAX_TEXT).slice(0, MAX_TEXT - 1));
});

test('what is short enough stays as it is', () => {
  const cut: number[] = [];
  expect(shorten('short', cut, 2)).toBe('short');
  expect(cut).toEqual([]);
});
