import { expect, test } from 'vitest';
import { maskedResult } from './masked';

const SECRET = 'password: hunter2-planted';
const field = { frame: 0, document: 'd', id: 3 };

test('no text of an action has a secret', () => {
  const result = maskedResult({
    done: 1,
    refused: 'covered',
    text: SECRET,
    untrusted: SECRET,
    dialog: { kind: 'prompt', message: SECRET, default: SECRET },
    blame: { element: SECRET, style: SECRET, file: SECRET, line: 4, stack: [SECRET] },
    waiting: ['GET /a?token=hunter2-planted'],
    downloads: [SECRET],
    late: { downloads: [SECRET] },
    objections: [{ field, invalid: SECRET }],
  });
  expect(JSON.stringify(result)).not.toContain('hunter2');
  expect(result).toMatchObject({
    done: 1,
    refused: 'covered',
    dialog: { kind: 'prompt', message: 'password: [masked]' },
    blame: { line: 4, stack: ['password: [masked]'] },
    waiting: ['GET /a?token=[masked]'],
    objections: [{ field }],
  });
});

test('what is absent stays absent', () => {
  expect(maskedResult({ done: 0 })).toEqual({ done: 0 });
});
