// @vitest-environment happy-dom
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { passesLuhn, SensitiveFields } from './sensitive';

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
