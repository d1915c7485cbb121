import { mask as MASK } from '../../../protocol/redaction.json';
import { clean } from '../../clean';
import { type Held, MIN_HIDDEN } from '../../held';
import { referencedText } from '../accessible-name';
import { all, attribute, hasChildElements, isElement, parentOf, tagOf } from '../dom';
import { isEditingHost, readText } from '../text';
import { type Field, Holdings, textOf } from './holdings';

/**
 * Decides which fields hold what must never leave the page: passwords, one-time codes, cards, bank
 * accounts, keys. Errs towards masking: a value masked for nothing costs a word, one told costs an
 * account. A field that was sensitive once stays so for as long as it lives, whatever becomes of its
 * type, its name or its value; so does a field that takes its place with its value, as "show password" may
 * have it.
 */
export class SensitiveFields {
  readonly #remembered = new WeakMap<Element, WeakRef<Field>>();
  /** Ids and names of password fields seen: "show password" may replace the element itself. */
  readonly #passwordNames = new Set<string>();
  readonly #changes: MutationObserver;
  readonly #holdings: Holdings;
  readonly #told: (held: Held) => void;

  /** `told` is called when a field holds another value than before. */
  constructor(signal: AbortSignal, holdings = new Holdings(), told: (held: Held) => void = () => undefined) {
    this.#holdings = holdings;
    this.#told = told;
    this.#changes = new MutationObserver((records) => this.#take(records));
    signal.addEventListener('abort', () => this.#changes.disconnect(), { once: true });
  }

  /**
   * Notices, within a document or shadow root, when a password field is made one of another type, when one comes with
   * a value, and what it holds when it goes: the page may show that elsewhere before anybody has looked at the field.
   */
  observe(root: Node): void {
    this.#changes.observe(root, {
      subtree: true,
      childList: true,
      attributeFilter: ['type'],
      attributeOldValue: true,
    });
    this.#noteWithin(root);
  }

  /** Ends what {@link observe} began; what is remembered stays. */
  unobserve(): void {
    this.#take(this.#changes.takeRecords());
    this.#changes.disconnect();
  }

  /**
   * Notes what kind of field this is now, so that a later change of its type cannot hide it, and whether it has taken the
   * place of a sensitive one.
   */
  note(element: Element): void {
    const field = element as Field;
    if (isPassword(element)) this.notePassword(element);
    else if (this.#remembered.has(element) || (!this.#holdings.empty && this.#holdings.has(textOf(element))))
      this.#remember(field);
  }

  #noteWithin(root: Node): void {
    for (const field of all(root, 'input, textarea, [contenteditable]')) this.note(field);
  }

  /** Notes what the page's sensitive fields hold: what comes next may replace them. */
  noteAll(root: Node): void {
    for (const input of all(root, 'input[type=password]')) this.note(input);
    for (const field of this.#holdings.live()) this.#keep(field);
  }

  /** Notes that this was a password field, whatever it is now. */
  notePassword(input: Element): void {
    this.#remember(input as HTMLInputElement);
    for (const name of ['id', 'name']) {
      const value = attribute(input, name);
      if (value !== '' && this.#passwordNames.size < 200) this.#passwordNames.add(value);
    }
  }

  /** Has the values told that the fields hold now, as if each were a new one. */
  tell(): void {
    if (!this.#holdings.empty) this.#told(this.#holdings.hashes);
  }

  /** Whether the field's value must be masked. */
  has(field: Field): boolean {
    this.#take(this.#changes.takeRecords());
    this.note(field);
    if (this.#remembered.has(field)) {
      this.#remember(field);
      return true;
    }
    const sensitive =
      this.#holdings.has(textOf(field)) ||
      this.#replacesPassword(field) ||
      hasSensitiveAutocomplete(field) ||
      isSensitiveName(namesOf(field)) ||
      isCodeBox(field) ||
      isDisguised(field) ||
      holdsCardNumber(field);
    if (sensitive) this.#remember(field);
    return sensitive;
  }

  /**
   * Takes out of JSON, wherever a text stands in it, what the page's sensitive fields hold, or held as they went away.
   * Texts are cleaned before, as they will be where they are shown.
   */
  hide(json: string): string {
    this.#take(this.#changes.takeRecords());
    if (this.#holdings.empty) return json;
    const secrets = this.#secrets();
    const { lengths } = this.#holdings;
    const isHeld = (word: string): boolean =>
      word.length >= MIN_HIDDEN && lengths.has(word.length) && this.#holdings.has(word);
    return json.replace(/"(?:[^"\\]|\\.)*"(\s*:)?/g, (text, colon: string | undefined) => {
      if (colon !== undefined) return text; // a key
      const shown = UNCLEAN.test(text) ? JSON.stringify(clean(plain(text))) : text;
      const rest = secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), shown);
      if (isHeld(plain(rest))) return JSON.stringify(MASK);
      return rest.replace(WORDS, (word) => (isHeld(plain(`"${word}"`)) ? MASK : word));
    });
  }

  /** What sensitive fields on the page hold, as JSON has it, the longest first; what is short says little. */
  #secrets(): string[] {
    const secrets = new Set<string>();
    for (const field of this.#holdings.live()) {
      const value = textOf(field).trim();
      if (value.length >= MIN_HIDDEN) secrets.add(JSON.stringify(value).slice(1, -1));
    }
    return [...secrets].sort((a, b) => b.length - a.length);
  }

  #remember(field: Field): void {
    const known = this.#remembered.get(field) ?? new WeakRef(field);
    this.#remembered.set(field, known);
    this.#holdings.add(known);
    this.#keep(field);
  }

  #keep(field: Field): void {
    if (this.#holdings.keep(field)) this.#told(this.#holdings.hashes);
  }

  #take(records: readonly MutationRecord[]): void {
    const added = new Set<Element>();
    const removed = new Set<Element>();
    for (const { type, oldValue, target, addedNodes, removedNodes } of records) {
      if (type === 'attributes') {
        if (oldValue?.toLowerCase() === 'password') this.notePassword(target as Element);
        continue;
      }
      for (const node of addedNodes) if (isElement(node)) added.add(node);
      if (isElement(target) && isEditingHost(target)) added.add(target); // its text is another one
      for (const node of removedNodes) if (isElement(node)) removed.add(node);
    }
    for (const element of removed) {
      // One that came and went in one task has been seen by nobody, and still has its value.
      if (isPassword(element)) this.notePassword(element);
      else if (hasChildElements(element))
        for (const input of all(element, 'input[type=password]')) this.notePassword(input);
    }
    if (removed.size > 0 && this.#holdings.noteRemoved()) this.#told(this.#holdings.hashes);
    for (const element of added) {
      const parent = parentOf(element);
      if (parent !== null && added.has(parent)) continue; // it is found there
      this.note(element);
      if (hasChildElements(element)) this.#noteWithin(element);
    }
  }

  #replacesPassword(field: Element): boolean {
    if (tagOf(field) !== 'input') return false;
    return (
      this.#passwordNames.has(attribute(field, 'id')) || this.#passwordNames.has(attribute(field, 'name'))
    );
  }
}

function isPassword(element: Element): boolean {
  return tagOf(element) === 'input' && (element as HTMLInputElement).type === 'password';
}

/** Words in the text of JSON, without the punctuation around them. */
const WORDS = /(?<=^|[\s"'(:,;.=<>]|\\n)[^\s"'(),;<>=]{6,}?(?=[.,:;!?)]?(?:$|[\s"'(),;<>=]|\\n))/g;

/** What cleaning may take out of a text of JSON. */
const UNCLEAN = /\\u00|\\[bfr]|[\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** What a text of JSON says. */
function plain(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    return '';
  }
}

function hasSensitiveAutocomplete(field: Element): boolean {
  const tokens = attribute(field, 'autocomplete').toLowerCase().split(/\s+/);
  return tokens.some(
    (token) =>
      token === 'one-time-code' ||
      token === 'current-password' ||
      token === 'new-password' ||
      token === 'cc' ||
      token.startsWith('cc-'),
  );
}

/** All by which a field is known, as words in lower case: `cardNumber` and `card-number` are one. */
function namesOf(field: Element): string {
  const texts = [
    'name',
    'id',
    'aria-label',
    'placeholder',
    'title',
    'data-testid',
    'data-test',
    'data-cy',
    'formcontrolname',
    'ng-model',
    'v-model',
  ].map((name) => attribute(field, name));
  texts.push(referencedText(field, 'aria-labelledby', 120));
  const labels = (field as HTMLInputElement).labels;
  if (labels != null) for (const label of labels) texts.push(readText(label, 120));
  return texts.map(words).join(' | ');
}

function words(text: string): string {
  return text
    .slice(0, 200)
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .toLowerCase()
    .trim();
}

/** Names of secrets, matched against words in lower case; by kind, each with why it is listed. */
const SENSITIVE_NAMES: readonly RegExp[] = [
  // passwords, in the languages of most sign-in pages
  /pass ?(?:word|wd|code|phrase|key)|passwort|kennwort|\bpwd?\b|\bpw\b|\bpasswd|\bpass\b|contrase[nñ]a|mot de passe|\bmdp\b|\bsenha\b|wachtwoord|l[oö]senord|adgangskode|has[lł]o|парол|密码|密碼|パスワード|비밀번호/u,
  // one-time codes
  /\b(?:otp|totp|mfa|2 ?fa|tfa)\b|one ?time|\b(?:verification|verify|security|auth|authentication|authenticator|confirmation|login|sms|access|backup|recovery|two factor|pairing|pin) ?codes?\b|\b\d digit code\b|\bcode digit\b|\b(?:best[aä]tigungs|sicherheits)code\b|验证码|驗證碼|認証コード|인증번호/u,
  // cards
  /\bcard ?(?:number|num|no|nr|holder|exp\w*|cvc|cvv|code|security)|\bcc ?(?:number|num|no|name|exp\w*|month|year|csc|cvc|cvv)|\bccnum|\bcredit ?card|\bdebit ?card|\bkartennummer|\b(?:cvc|cvv|csc|cid)\d?\b|\bexp(?:iry|iration)?(?: ?(?:date|month|year|mm|yy|yyyy))?\b|\bmm yy(?:yy)?\b/u,
  // bank accounts and identity numbers
  /\biban\b|\b(?:account|routing) ?(?:number|no)\b|\bsort ?code\b|\bssn\b|social ?security|\bnational ?(?:id|insurance)|\btax ?(?:id|number)\b|\bpassport ?(?:number|no)?\b/u,
  // keys and secrets of programs
  /\bsecrets?\b|\btokens?\b|\b(?:api|access|private|secret|signing|encryption|license|ssh) ?keys?\b|\bapikey\b|\bcredentials?\b|\bmnemonic\b|\b(?:seed|recovery) ?(?:phrase|words?)\b|\bpins?\b|\bbearer\b|\bcookies?\b/u,
];

function isSensitiveName(names: string): boolean {
  return SENSITIVE_NAMES.some((pattern) => pattern.test(names));
}

/** One of a row of boxes that take a single character each: how one-time codes and PINs are asked for. */
function isCodeBox(field: Element): boolean {
  if (!isSingleCharacter(field)) return false;
  let scope = parentOf(field);
  for (let level = 0; level < 3 && scope !== null; level++, scope = parentOf(scope)) {
    let boxes = 0;
    for (const input of all(scope, 'input')) if (isSingleCharacter(input)) boxes++;
    if (boxes >= 3) return true;
  }
  return false;
}

function isSingleCharacter(element: Element): boolean {
  return tagOf(element) === 'input' && attribute(element, 'maxlength') === '1';
}

/** A text field that style sheets show as dots: a password field in all but its type. */
function isDisguised(field: Element): boolean {
  const style = field.ownerDocument.defaultView?.getComputedStyle(field);
  const security = style?.getPropertyValue('-webkit-text-security') ?? '';
  return security !== '' && security !== 'none';
}

/** A payment card's number, wherever it was typed: 13 to 19 digits that pass Luhn's check. */
function holdsCardNumber(field: Field): boolean {
  const text = 'value' in field ? String(field.value) : (field.textContent ?? '').slice(0, 2000);
  for (const [run] of text.matchAll(/\d(?:[ -]?\d){12,18}(?!\d)/g)) {
    if (passesLuhn(run.replace(/\D/g, ''))) return true;
  }
  return false;
}

/** Luhn's check digit (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    if (i % 2 === 1) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
  }
  return digits.length > 0 && sum % 10 === 0;
}
