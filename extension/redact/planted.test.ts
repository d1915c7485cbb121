import { expect, test } from 'vitest';
import planted from '../../protocol/testdata/planted.json';
import { type Redacted, redactBody, redactHeaders, redactText, redactURL } from './redact';

interface Planted {
  id: string;
  as: string;
  text: string;
  secret: string;
  reach: string;
}

/** Every planted secret, as host/testing/planted combines them. */
function all(): Planted[] {
  const out: Planted[] = planted.texts.map((p) => ({ ...p, text: joined(p.text) }));
  for (const { keys, in: ins, reach } of planted.named) {
    for (const key of keys) {
      for (const { id, as, text } of planted.contexts.filter((c) => ins.includes(c.id))) {
        const secret = `Planted-${String(out.length).padStart(4, '0')}`;
        const whole = text.replaceAll('{key}', key).replaceAll('{secret}', secret);
        out.push({ id: `${key} in ${id}`, as, text: whole, secret, reach });
      }
    }
  }
  for (const format of planted.formats) {
    const secret = joined(format.secret);
    for (const { id, as, text } of planted.wraps.filter((c) => format.in?.includes(c.id) ?? true)) {
      const whole = text.replaceAll('{secret}', secret);
      out.push({ id: `${format.id} in ${id}`, as, text: whole, secret, reach: format.reach });
    }
  }
  return out;
}

function joined(text: string): string {
  return text.replaceAll('{}', '');
}

function redact({ as, text }: Planted): Redacted {
  switch (as) {
    case 'json':
    case 'form':
    case 'xml':
      return redactBody(text);
    case 'url':
      return redactURL(text);
    case 'header': {
      const [, name = '', value = ''] = /^(.*?): (.*)$/.exec(text) ?? [];
      const { headers, masked } = redactHeaders({ [name]: value });
      return { text: `${name}: ${headers[name]}`, masked };
    }
    default:
      return redactText(text);
  }
}

const secrets = all();

function leaks(p: Planted): boolean {
  const { text, masked } = redact(p);
  return masked === 0 || text.includes(p.secret);
}

test('500 secrets are planted', () => {
  expect(secrets.length).toBeGreaterThanOrEqual(500);
  expect(secrets.filter((p) => !p.text.includes(p.secret))).toEqual([]);
});

test('no covered secret is left', () => {
  const left = secrets.filter((p) => p.reach === 'covered' && leaks(p));
  expect(left.map((p) => `${p.id}: ${redact(p).text}`)).toEqual([]);
});

test('of the expected secrets at most 5 % are left', () => {
  const expected = secrets.filter((p) => p.reach === 'expected');
  const left = expected.filter(leaks).map((p) => p.id);
  expect(left.length * 20, left.join('\n')).toBeLessThanOrEqual(expected.length);
});

test('masked twice is masked once', () => {
  const changed = secrets.filter((p) => {
    const { text } = redact(p);
    const twice = redact({ ...p, text });
    return twice.masked !== 0 || twice.text !== text;
  });
  expect(changed.map((p) => p.id)).toEqual([]);
});
