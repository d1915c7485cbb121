/** Secrets that only what stands beside them says to be secrets: {name: "password", value: "x"}, ["app", "--api-key", "x"]. */
import { type DebugField, KeyEntry, KeyIndex } from '../../protocol';
import { isSecretKey, redactBody, redactText } from '../../redact/redact';

/** The longest text that may be the name of a secret. */
const MAX_NAME = 64;

/** Names that say of a text that it may be a secret, if it looks like one. */
const MAYBE = /pass|pw|accesskey/i;

/** Whether a text under a name is a secret of which neither the name nor the text alone says so: DB_PASS = "x". */
export function isSecretUnder(name: string | undefined, text: string): boolean {
  if (name === undefined || name.length > MAX_NAME || !MAYBE.test(name)) return false;
  return redactText(`${name}=${JSON.stringify(text)}`).text.endsWith('="[masked]"');
}

/** Masks the texts and numbers of an object or a list that the rules for JSON mask there. */
export function maskHeld(parent: DebugField, held: readonly DebugField[]): void {
  const tokens = /tokens$/i.test(parent.n ?? '');
  if (!tokens && !held.some(namesSecret)) return;
  const texts = held.filter(({ t, v, m }) => isText(t) && v !== undefined && m !== true);
  const isList = texts.length > 0 && texts.every(({ k }) => k === KeyIndex);
  const written = texts.map((field) => {
    const text = JSON.stringify(field.v);
    return isList ? text : `${JSON.stringify(nameOf(field))}:${text}`;
  });
  const body = isList ? `[${written.join(',')}]` : `{${written.join(',')}}`;
  const { text, masked } = redactBody(
    tokens ? `{"tokens":${body}}` : parent.k === KeyIndex ? `[${body}]` : body,
  );
  if (masked === 0) return;
  const whole = tokens && text === '{"tokens":[masked]}';
  for (const [i, field] of texts.entries()) {
    if (!whole && text.includes(written[i] ?? '')) continue;
    field.m = true;
    delete field.v;
    delete field.l;
    delete field.h;
  }
}

function isText(t: string): boolean {
  return t === 'string' || t === 'number' || t === 'bigint';
}

function namesSecret({ t, v = '' }: DebugField): boolean {
  return t === 'string' && v.length <= MAX_NAME && (v.startsWith('-') || isSecretKey(v));
}

/** The key of an entry of a Map is in quotes. */
function nameOf({ k, n, i = 0 }: DebugField): string {
  return k === KeyEntry ? (n ?? '').replace(/^"|"$/g, '') : (n ?? String(i));
}
