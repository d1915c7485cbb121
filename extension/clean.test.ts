import { expect, test } from 'vitest';
import cases from '../protocol/testdata/clean.json';
import { clean, folded } from './clean';

test.each(cases)('%j is cleaned as the host cleans it', (text = '', cleaned) => {
  expect(clean(text)).toBe(cleaned);
  expect(clean(clean(text))).toBe(cleaned);
});

test('white space is folded, and what shows nothing is not white space', () => {
  expect(folded(' a\r\nb\fc\u00a0 \u3000d\u200be \ufeff f\u200b')).toBe('a b c de f');
});
