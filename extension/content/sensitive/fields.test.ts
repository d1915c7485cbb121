// @vitest-environment happy-dom
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Held, hideHeld } from '../../held';
import { passesLuhn, SensitiveFields } from './fields';
import { Holdings } from './holdings';

let ending: AbortController;
let fields: SensitiveFields;

beforeEach(() => {
  ending = new AbortController();
  fields = new SensitiveFields(ending.signal);
});
afterEach(() => {
  ending.abort();
  document.body.innerHTML = '';
});

function field(html: string): HTMLInputElement {
  document.body.innerHTML = html;
  return document.querySelector('input, textarea, select, [contenteditable]') as HTMLInputElement;
}

describe('fields whose values never leave the page', () => {
  it.each([
    '<input type="password">',
    '<input autocomplete="one-time-code">',
    '<input autocomplete="section-pay cc-number">',
    '<input name="otp">',
    '<input id="verificationCode">',
    '<label>Enter the 6-digit code <input></label>',
    '<input placeholder="Security code">',
    '<input name="cardNumber">',
    '<input name="card_number">',
    '<input aria-label="CVC">',
    '<input name="cvv2">',
    '<input placeholder="MM / YY">',
    '<input name="expiry">',
    '<input name="userPassword">',
    '<label>Passwort <input></label>',
    '<label>Mot de passe <input></label>',
    '<input name="api_key">',
    '<textarea name="privateKey"></textarea>',
    '<input name="client_secret">',
    '<input name="access-token">',
    '<input name="iban">',
    '<label>Social Security number<input></label>',
    '<select name="ccExpMonth"></select>',
    '<div contenteditable aria-label="Recovery phrase"></div>',
    '<p><input maxlength="1" inputmode="numeric"><input maxlength="1"><input maxlength="1"><input maxlength="1"></p>',
    '<input value="4111 1111 1111 1111">',
  ])('%s', (html) => {
    expect(fields.has(field(html))).toBe(true);
  });
});

describe('fields whose values may be told', () => {
  it.each([
    '<input name="email">',
    '<input name="q" placeholder="Search products">',
    '<label>First name <input></label>',
    '<input name="postalCode">',
    '<input name="country_code">',
    '<input name="discountCode">',
    '<input name="company">',
    '<input name="shipping">',
    '<input name="compass">',
    '<input name="keyword">',
    '<input name="experience">',
    '<input name="cardinal">',
    '<textarea name="message"></textarea>',
    '<input maxlength="1" name="initial">',
    '<input value="2024 11 30 15 45 10">',
    '<input value="1234567890123456">',
  ])('%s', (html) => {
    expect(fields.has(field(html))).toBe(false);
  });
});

describe('a password field', () => {
  it('stays one after "show password" made it a text field', () => {
    const input = field('<input type="password" class="x">');
    fields.note(input);
    input.type = 'text';
    expect(fields.has(input)).toBe(true);
  });

  it('stays one though nobody looked before it was shown', () => {
    const input = field('<input type="password">');
    fields.observe(document);
    input.setAttribute('type', 'text');
    expect(fields.has(input)).toBe(true);
  });

  it('is recognised in the element that replaces it', () => {
    fields.note(field('<input type="password" name="geheim">'));
    expect(fields.has(field('<input type="text" name="geheim">'))).toBe(true);
  });
});

describe('what a sensitive field holds', () => {
  const type = (input: HTMLInputElement, value: string): HTMLInputElement => {
    input.value = value;
    fields.noteAll(document);
    return input;
  };

  it.each([
    '<input type="password">',
    '<input autocomplete="one-time-code">',
    '<input autocomplete="cc-number">',
  ])('keeps a field without a name sensitive that takes its place: %s', (html) => {
    const input = field(html);
    expect(fields.has(input)).toBe(true);
    type(input, '482913');
    const shown = field('<input type="text">');
    shown.value = '482913';
    expect(fields.has(shown)).toBe(true);
    shown.value = '4829130'; // typed on
    expect(fields.has(shown)).toBe(true);
    expect(fields.has(field('<input type="text" value="482914">'))).toBe(false);
  });

  it('is what it held last, not what was typed on the way there', () => {
    const input = field('<input type="password">');
    for (const value of ['hunter', 'hunter2', 'hunter2secret']) type(input, value);
    expect(fields.has(field('<input value="hunter">'))).toBe(false);
    expect(fields.has(field('<input value="hunter2secret">'))).toBe(true);
  });

  it('is hidden in every text, with and without the field, and nothing else is', () => {
    const secret = 'c0rrect"horse\\';
    type(field('<input type="password">'), secret);
    const told = {
      target: `button "${secret}"`,
      list: [`is ${secret}, really`, secret],
      n: 123456,
      note: 'correct',
    };
    const hidden = JSON.parse(fields.hide(JSON.stringify(told))) as typeof told;
    expect(JSON.stringify(hidden)).not.toContain('c0rrect');
    expect(hidden).toMatchObject({ n: 123456, note: 'correct' });
    document.body.innerHTML = `<span>plain</span>`;
    type(field('<input type="password">'), 'c0rrect-horse');
    document.body.innerHTML = '';
    expect(fields.hide('{"a":"it is c0rrect-horse.","b":"c0rrect-horse"}')).toBe(
      '{"a":"it is [masked].","b":"[masked]"}',
    );
  });

  it.each([
    ...Array.from(
      '\u00ad\u200b\u200c\u200d\u2060\u200e\u202e\u202c\u2063\u2066\u061c\u180e\u0001\u007f\u{e0041}\ufe0f',
    ),
    '\x1b[31m',
  ])('is hidden with %j in it, which is not shown', (invisible) => {
    type(field('<input type="password">'), 'Tr0ub4dor&3-horse');
    const shown = 'Tr0ub4dor&3-horse'.match(/.{1,4}/gu)?.join(invisible) ?? '';
    const told = [shown, `Not accepted: ${shown}.`, `pw ${shown}`];
    const hidden = ['[masked]', 'Not accepted: [masked].', 'pw [masked]'];
    expect(JSON.parse(fields.hide(JSON.stringify(told)))).toEqual(hidden);
    expect(fields.has(field(`<textarea>${shown}</textarea>`))).toBe(true);
    type(field('<input type="password">'), 'c0rrect-horse'.match(/.{1,4}/gu)?.join(invisible) ?? '');
    expect(fields.hide('["it is c0rrect-horse."]')).toBe('["it is [masked]."]');
    document.body.innerHTML = '';
    expect(fields.hide(JSON.stringify([`it is ${shown}.`]))).toBe('["it is [masked]."]');
  });

  it.each([
    ['<textarea></textarea>', (shown: HTMLElement, value: string) => Object.assign(shown, { value })],
    [
      '<div role="textbox" contenteditable></div>',
      (shown: HTMLElement, value: string) => Object.assign(shown, { textContent: value }),
    ],
  ])(
    'is hidden elsewhere though nobody looked at what took the place of its field: %s',
    async (html, fill) => {
      fields.observe(document);
      const input = field('<input type="password">');
      const value = 'mumble frob 93x';
      type(input, value);
      input.remove();
      const shown = field(html);
      for (const later of [false, true]) {
        fill(shown, '');
        if (later) await new Promise((resolve) => setTimeout(resolve));
        fill(shown, value);
        expect(fields.hide(`{"a":"You typed ${value}"}`)).toBe('{"a":"You typed [masked]"}');
      }
    },
  );

  it('is hidden in other documents that share the holdings', () => {
    const holdings = new Holdings();
    const around = new SensitiveFields(ending.signal, holdings);
    const within = new SensitiveFields(ending.signal, holdings);
    const input = field('<input type="password">');
    input.value = 'c0rrect-horse';
    around.note(input);
    expect(within.hide('{"a":"xc0rrect-horsey"}')).toBe('{"a":"x[masked]y"}');
    expect(within.has(field('<input value="c0rrect-horse">'))).toBe(true);
  });

  it('is told by hashes, and found by them in any text', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 30 }).filter((text) => !/[\r\n]|^ | $/.test(text)),
        fc.string(),
        fc.string(),
        (secret, left, right) => {
          const told: Held[] = [];
          const noting = new SensitiveFields(ending.signal, new Holdings(), (held) => told.push(held));
          const input = field('<input type="password">');
          input.value = secret;
          noting.note(input);
          noting.note(input);
          expect(told).toHaveLength(1);
          expect(JSON.stringify(told)).not.toContain(JSON.stringify(secret).slice(1, -1));
          expect(hideHeld(left + secret + right, told[0] as Held, '\u0000')).not.toContain(secret);
        },
      ),
    );
  });

  it('is found as a whole whatever it is, and JSON stays JSON', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 30 }).filter((text) => text.trim().length >= 6),
        fc.string(),
        fc.string(),
        (secret, left, right) => {
          const input = type(field('<input type="password">'), secret);
          const held = input.value.trim();
          const hidden = JSON.parse(fields.hide(JSON.stringify({ text: `${left}${held}${right}` }))) as {
            text: string;
          };
          expect(hidden.text.replaceAll('[masked]', '\u0000')).not.toContain(held);
        },
      ),
    );
  });
});

describe('passesLuhn', () => {
  it('accepts exactly one check digit for any number', () => {
    const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 12, maxLength: 18 });
    fc.assert(
      fc.property(digits, (number) => {
        const accepted = [...'0123456789'].filter((check) => passesLuhn(number.join('') + check));
        expect(accepted).toHaveLength(1);
      }),
    );
  });

  it('notices any single wrong digit', () => {
    const number = '4111111111111111';
    fc.assert(
      fc.property(fc.nat(number.length - 1), fc.integer({ min: 1, max: 9 }), (at, by) => {
        const wrong = (Number(number[at]) + by) % 10;
        expect(passesLuhn(number.slice(0, at) + wrong + number.slice(at + 1))).toBe(false);
      }),
    );
  });
});
