/** The words of the pages: from `_locales` by way of the browser, or its English file where there is no extension. */
import english from './_locales/en/messages.json';

/** The name of a text in `_locales/en/messages.json`. */
export type TextKey = keyof typeof english;

/** A text with its `$1` … filled in. */
export function t(key: TextKey, ...values: (string | number)[]): string {
  return find(key, values.map(String));
}

/** A text by a name that may be none; "" then. */
function find(key: string, filled: string[]): string {
  const own =
    typeof chrome === 'undefined' ? '' : (chrome.i18n?.getMessage?.(key, filled) as string | undefined);
  if (own) return own;
  const text = (english as Partial<Record<string, { message: string }>>)[key]?.message ?? '';
  return text.replace(/\$(\d)/g, (_, n) => filled[Number(n) - 1] ?? '');
}

/** The stems of texts that speak of a number: each has one for `_one` and one for `_other`. */
export type CountedKey = TextKey extends infer K ? (K extends `${infer Stem}_other` ? Stem : never) : never;

const plural = new Intl.PluralRules(t('language'));

/** A text that speaks of a number, which is its `$1`. A translation has as many forms as its language. */
export function many(stem: CountedKey, n: number, ...values: (string | number)[]): string {
  const filled = [n.toLocaleString(), ...values.map(String)];
  return find(`${stem}_${plural.select(n)}`, filled) || find(`${stem}_other`, filled);
}
