/** Page text without what could mislead a reader or a terminal. */

/**
 * The pattern of a character that shows nothing, as `Hidden` in host/internal/redact has it: Unicode's
 * Default_Ignorable_Code_Point and controls. Line feed and tab are among these.
 */
export const SHOWS_NOTHING = String.raw`[\p{Cc}\p{Default_Ignorable_Code_Point}]`;

const HIDDEN = new RegExp(String.raw`(?:(?![\t\n])${SHOWS_NOTHING})+`, 'gu');

/** ANSI sequences (ECMA-48: CSI, OSC and two-byte). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const ESCAPES = /\x1b(?:\[[\x20-\x3f]*[\s\S]?|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b[\s\S]?)?|[\s\S]?)/gu;

/**
 * Removes control characters except line feed and tab, ANSI escape sequences, bidirectional controls and characters
 * that show nothing, as the host does (`Clean` in host/internal/event): what is compared is what will be shown.
 */
export function clean(text: string): string {
  return text.search(HIDDEN) < 0 ? text : text.replace(ESCAPES, '').replace(HIDDEN, '');
}

/** Cleans text and folds its white space to single spaces, in which a control character may stand for one. */
export function folded(text: string): string {
  const lines = text.search(HIDDEN) < 0 ? text : clean(text.replace(/[\v\f\r\x85]/g, ' '));
  return lines.replace(/\s+/g, ' ').trim();
}
