import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nameProblem } from './checkpoint-name';

describe('nameProblem', () => {
  it.each([
    'session_start',
    'pre_commit',
    'before_refactor',
    'v2_login',
    'a',
    'step_10',
    'automatic',
    'x'.repeat(50),
  ])('takes %s', (name) => {
    expect(nameProblem(name)).toBe('');
  });

  it.each([
    ['', /name/],
    ['Before', /lowercase/],
    ['before refactor', /underscores/],
    ['before-refactor', /not “-”/],
    ['2nd_try', /letter/],
    ['auto_7', /reserved/],
    ['now', /reserved name/],
    ['start', /reserved name/],
    ['m12', /reserved name/],
    ['s1', /reserved name/],
    ['auto', /reserved/],
    ['start_20260123', /date/],
    ['start_2026_01_23', /date/],
    ['at_14h30', /date/],
    ['t1769170000', /date/],
    ['x'.repeat(51), /51/],
  ])('refuses %s', (name, why) => {
    expect(nameProblem(name)).toMatch(why);
  });

  it('names a character that shows nothing by its number', () => {
    expect(nameProblem('a\u202eb')).toContain('U+202E');
  });

  it('takes only what the form allows', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (name) => {
        if (nameProblem(name) === '') expect(name).toMatch(/^[a-z][a-z0-9_]{0,49}$/);
      }),
    );
  });
});
