import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DebugField } from '../../protocol';
import { Secrets } from './secrets';
import { quote } from './values';

test('the text of a secret variable is masked in whatever is reported with it', () => {
  const text = fc.string({ minLength: 6, maxLength: 300 });
  fc.assert(
    fc.property(text, fc.string(), (secret, around) => {
      const secrets = new Secrets();
      secrets.add(secret, false);
      const fields: DebugField[] = [
        { n: 'whole', t: 'string', v: secret },
        { n: 'part', t: 'string', v: `${around}${secret}` },
        { n: 'list', t: 'Array', v: `[${quote(secret)}]`, f: [{ k: 'i', i: 0, t: 'string', v: secret }] },
        { n: 'long', t: 'Array', v: `[${quote(`${secret.slice(0, 50)}…${secret.slice(-49)}`)}]` },
      ];
      if (secret.length <= 100) fields.pop();
      expect(secrets.hide(fields)).toBe(true);
      expect(fields[0]).toEqual({ n: 'whole', t: 'string', m: true });
      const told = JSON.stringify(fields.slice(1)).replaceAll('[masked]', '');
      const begin = JSON.stringify(quote(secret.slice(0, 40)).slice(1, -1)).slice(1, -1);
      if (!around.includes(secret)) expect(told.includes(begin) && begin.length > 20).toBe(false);
    }),
  );
});

test('short texts, and those of no secret, stay', () => {
  const secrets = new Secrets();
  secrets.add('admin', false);
  const fields: DebugField[] = [{ n: 'role', t: 'string', v: 'admin' }];
  expect(secrets.hide(fields)).toBe(false);
  expect(fields).toEqual([{ n: 'role', t: 'string', v: 'admin' }]);
});

test('a text that may be a secret is masked where it is a whole value', () => {
  const secrets = new Secrets();
  secrets.add('button', true);
  const fields: DebugField[] = [
    { n: 'a', t: 'string', v: 'button' },
    { n: 'b', t: 'string', v: 'a button here' },
    { n: 'c', t: 'Array', v: '["button", "a button here"]' },
  ];
  expect(secrets.hide(fields)).toBe(true);
  expect(fields).toEqual([
    { n: 'a', t: 'string', m: true },
    { n: 'b', t: 'string', v: 'a button here' },
    { n: 'c', t: 'Array', v: '["[masked]", "a button here"]' },
  ]);
  secrets.add('button', false);
  expect(secrets.inCode('a button here')).toBe('a [masked] here');
  secrets.add('button', true);
  expect(secrets.inCode('a button here')).toBe('a [masked] here');
});
