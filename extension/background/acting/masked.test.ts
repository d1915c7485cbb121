import { expect, test } from 'vitest';
import { redactText } from '../../redact/redact';
import { maskedResult } from './masked';

const hide = (text: string): string => redactText(text).text;
const SECRET = 'password: hunter2-planted';
const field = { frame: 0, document: 'd', id: 3 };

test('no text of an action has a secret', () => {
  const result = maskedResult(
    {
      done: 1,
      refused: 'covered',
      text: SECRET,
      untrusted: SECRET,
      blame: { element: SECRET, style: SECRET, file: SECRET, line: 4, stack: [SECRET] },
      waiting: ['GET /a?token=hunter2-planted'],
      downloads: [SECRET],
      late: { downloads: [SECRET] },
      objections: [{ field, invalid: SECRET }],
    },
    hide,
  );
  expect(JSON.stringify(result)).not.toContain('hunter2');
  expect(result).toMatchObject({
    done: 1,
    refused: 'covered',
    blame: { line: 4, stack: ['password: [masked]'] },
    waiting: ['GET /a?token=[masked]'],
    objections: [{ field }],
  });
});

test('what is absent stays absent', () => {
  expect(maskedResult({ done: 0 }, hide)).toEqual({ done: 0 });
});
