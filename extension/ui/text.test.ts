import { expect, test } from 'vitest';
import english from '../_locales/en/messages.json';
import { many, type TextKey, t } from './text';

const sources = import.meta.glob<string>(['../**/*.{ts,tsx}', '../manifest.json', '!../dist/**'], {
  query: '?raw',
  import: 'default',
  eager: true,
});

test('numbers choose their word, and values are filled in', () => {
  expect(many('errors', 1)).toBe('1 error');
  expect(many('errors', 2)).toBe('2 errors');
  expect(t('fromTo', 'a', 'b')).toBe('From a to b');
});

test('every text is used, each counted one has both forms, and placeholders are in order', () => {
  const files = Object.values(sources).join('\n');
  for (const [key, { message }] of Object.entries(english)) {
    const stem = key.replace(/_(one|other)$/, '');
    expect(
      files.includes(`'${stem}'`) || files.includes(`"${stem}"`) || files.includes(`__MSG_${key}__`),
      key,
    ).toBe(true);
    if (key !== stem) expect(`${stem}_one` in english && `${stem}_other` in english, key).toBe(true);
    const numbers = [...message.matchAll(/\$(\d)/g)].map(([, n]) => Number(n));
    expect(new Set(numbers).size, key).toBe(Math.max(0, ...numbers));
  }
  expect(t('clean' satisfies TextKey)).toBe('clean');
});
