// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { isMark, mark, markOf } from './marks';

const marked = (tag: string, before: string, words: string): { shown: string; named: string } => {
  const text = { shown: before + words, named: before + words };
  mark(tag, text, { shown: before, named: before });
  return text;
};

it('marks deleted words in what is shown and in what names are compared with', () => {
  expect(marked('del', 'Was ', ' $100 ')).toEqual({ shown: 'Was  ~$100~ ', named: 'Was  ~$100~ ' });
});

it('marks raised and lowered words in what is shown only', () => {
  expect(marked('sup', '10', '2')).toEqual({ shown: '10^2', named: '102' });
  expect(marked('sub', 'x', 'n + 1').shown).toBe('x_(n + 1)');
});

it('leaves white space alone', () => {
  expect(marked('ins', 'a', ' ').shown).toBe('a ');
});

it('knows the tags that mark', () => {
  expect(['del', 's', 'ins', 'mark', 'sub', 'sup', 'b', 'constructor'].map(isMark)).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

it('knows the roles that mark', () => {
  const element = document.createElement('span');
  element.setAttribute('role', 'deletion');
  expect(markOf(element, 'span')).toBe('del');
  element.setAttribute('role', 'note');
  expect(markOf(element, 'span')).toBe('');
  expect(markOf(element, 'ins')).toBe('ins');
});
