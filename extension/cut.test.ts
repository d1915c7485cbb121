import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatArguments } from './capture/console/format';
import { cutWhole, seal } from './cut';
import { CUT } from './page/records';
import { redactCut, redactText } from './redact/redact';

/** The longest part of a secret that may be left: half of the shortest that a rule knows. */
const FEW = 8;

/** Secrets of each kind that rules know by their own looks, and ones that only their key gives away. */
const of = (units: string, minLength: number, maxLength = minLength + 60): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...units), minLength, maxLength });
const hex = '0123456789abcdef';
const alphanumeric = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789';
const base64 = `${alphanumeric}_-`;
const after = (prefix: string, rest: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  rest.map((text) => prefix + text);
/** As generators of tokens do: what is drawn has digits and letters of both cases. */
const mixed = (minLength: number, units = base64): fc.Arbitrary<string> =>
  of(units, minLength).map((text) => `q7${text}Z4x`);
const secrets: Record<string, fc.Arbitrary<string>> = {
  jwt: fc.tuple(mixed(16), mixed(20), mixed(30)).map(([head, body, sign]) => `eyJ${head}.eyJ${body}.${sign}`),
  github: after('ghp_', of(alphanumeric, 36, 36)),
  anthropic: after('sk-ant-api03-', mixed(30)),
  openai: after('sk-proj-', mixed(30)),
  aws: after('AKIA', of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16, 16)),
  google: after('AIza', of(alphanumeric, 35, 35)),
  slack: after('xoxb-', mixed(24, alphanumeric)),
  stripe: after('sk_live_', of(alphanumeric, 24)),
  npm: after('npm_', of(alphanumeric, 36, 36)),
  twilio: after('SK', of(hex, 32, 32)),
  databricks: after('dapi', of(hex, 32, 32)),
  bearer: after('Bearer ', mixed(24)),
  card: fc.constantFrom('4111 1111 1111 1111', '5555555555554444', '378282246310005', '4012-8888-8888-1881'),
  password: after('password=', mixed(10, alphanumeric)),
  url: mixed(10, alphanumeric).map((secret) => `https://user:${secret}@example.com/`),
};

/** How long the longest run of a secret is, without what everybody knows of it, that a text still has; spaces tell nothing. */
function longest(text: string, secret: string): number {
  const hidden = secret.replace(/^(?:Bearer |password=|https:\/\/user:)/, '').replace(/@example.com\/$/, '');
  for (let length = hidden.length; length > 0; length--) {
    for (let at = 0; at + length <= hidden.length; at++) {
      const run = hidden.slice(at, at + length);
      if (text.includes(run)) return run.replaceAll(' ', '').length;
    }
  }
  return 0;
}

/** What Chromium makes of a long string of a preview. */
function abbreviate(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 50)}…${text.slice(-49)}`;
}

const prose = fc.array(
  fc.constantFrom('the', 'cart', 'was', 'loaded', 'for', '/api/items', '12', 'ms', '→'),
  {
    maxLength: 40,
  },
);
const placed = (secret: fc.Arbitrary<string>): fc.Arbitrary<{ text: string; secret: string }> =>
  fc.tuple(prose, secret, prose, fc.constantFrom(' ', '"', ', ', '; ')).map(([left, one, right, by]) => ({
    text: `${left.join(' ')}${by}${one}${by}${right.join(' ')}`,
    secret: one,
  }));

test.each(Object.entries(secrets))('no part of a %s is left of a preview that Chromium cut', (_, secret) => {
  fc.assert(
    fc.property(
      placed(secret),
      fc.constantFrom('note', '0', 'list', 'inner', 'key', 'entry', 'member'),
      ({ text, secret }, where) => {
        const value = { name: where, type: 'string' as const, value: abbreviate(text) };
        const properties =
          where === 'inner'
            ? [
                {
                  name: where,
                  type: 'object' as const,
                  valuePreview: { type: 'object' as const, overflow: false, properties: [value] },
                },
              ]
            : [value];
        // Chromium gives keys and the texts of entries whole.
        const entry = { type: 'string' as const, description: text, overflow: false, properties: [] };
        const preview = {
          type: 'object' as const,
          overflow: false,
          properties: where === 'key' ? [{ name: text, type: 'number' as const, value: '1' }] : properties,
          ...(where === 'entry' && { entries: [{ key: entry, value: entry }] }),
          ...(where === 'member' && { entries: [{ value: entry }] }),
        };
        const shown = redactCut(formatArguments([{ type: 'object', preview }])).text;
        expect(longest(shown, secret), shown).toBeLessThanOrEqual(FEW);
        expect(shown).not.toContain(CUT);
      },
    ),
    { numRuns: 300 },
  );
});

test.each(Object.entries(secrets))('no part of a %s is left of a text that is cut anywhere', (_, secret) => {
  fc.assert(
    fc.property(placed(secret), fc.nat(), fc.nat(), ({ text, secret }, a, b) => {
      const at = a % (text.length + 1);
      const end = redactCut(text.slice(0, at) + CUT).text;
      expect(longest(end, secret), end).toBeLessThanOrEqual(FEW);
      const rest = at + (b % (text.length - at + 1));
      const middle = redactCut(`${text.slice(0, at)}${CUT}…${text.slice(rest)}`).text;
      expect(longest(middle, secret), middle).toBeLessThanOrEqual(FEW);
      const whole = redactText(cutWhole(text, at)).text;
      expect(longest(whole, secret), whole).toBeLessThanOrEqual(FEW);
    }),
    { numRuns: 300 },
  );
});

test('of a card that is cut, both sides together are not more than a part', () => {
  expect(seal(`paid by 4111 ${CUT}…111 1111 the cart`).text).toBe('paid by [masked]…[masked] the cart');
  expect(seal(`took 12 ${CUT}…34 ms`).text).toBe('took 12 …34 ms');
});

test('what is no part of a secret stays', () => {
  for (const text of [
    `'the cart was loaded from the ${CUT}… of 12 items'`,
    `'https://localhost:5173/api/items/${CUT}…/price' failed`,
    `Loading${CUT}…`,
  ])
    expect(seal(text).text).toBe(text.replace(CUT, ''));
  expect(cutWhole('Something unexpectedly went wrong', 15)).toBe('Something unexp');
  expect(cutWhole('GET /api/orders/new', 12)).toBe('GET /api/ord');
});
