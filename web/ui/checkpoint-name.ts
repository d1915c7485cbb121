import { t } from '../../extension/text';

/** The checkpoints that every session should have. */
export const CONVENTIONAL = ['session_start', 'pre_commit'];

/** The longest name of a checkpoint, characters. */
export const MAX_CHECKPOINT_NAME = 50;

/**
 * A date (20260123, 2026_01_23, 23_01_2026), a time of day (14h30, 2pm, 14_30_00), a Unix time: the
 * host's own pattern, whose word is final.
 */
const DATE_OR_TIME =
  /(^|[^0-9])((19|20)\d{2}_?(0[1-9]|1[0-2])(_?([0-2]\d|3[01]))?|([0-2]?\d|3[01])_?(0?[1-9]|1[0-2])_?(19|20)\d{2}|\d{10,}|([01]?\d|2[0-3])h[0-5]\d|(0?\d|1[0-2])_?(am|pm)|([01]\d|2[0-3])_[0-5]\d(_[0-5]\d)?|\d{8}_?t?_?\d{4,6})([^0-9]|$)/;

/** A character as it can be read; one that shows nothing, or turns what is around it, by its number. */
function visible(char: string): string {
  if (!/[\p{C}\p{M}]/u.test(char)) return char;
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Which rule a name breaks, in words for who types it; "" when it breaks none. */
export function nameProblem(name: string): string {
  if (name === '') return t('nameMissing');
  if (/\s/.test(name)) return t('nameSpaces');
  if (/[A-Z]/.test(name)) return t('nameCapitals');
  if (!/^[a-z]/.test(name)) return t('nameBegins');
  const odd = /[^a-z0-9_]/u.exec(name);
  if (odd !== null) return t('nameOdd', visible(odd[0]));
  if (name.length > MAX_CHECKPOINT_NAME) return t('nameLong', MAX_CHECKPOINT_NAME, name.length);
  if (name === 'auto' || name.startsWith('auto_')) return t('nameAuto');
  if (name === 'now' || name === 'start' || /^[ms]\d+$/.test(name)) return t('nameMoment', name);
  if (DATE_OR_TIME.test(name)) return t('nameTime');
  return '';
}
