/** How it stands, in words for a person: what agents are told of it has its own form. */
import type { Overview, ViewSpan } from './protocol';
import { many, t } from './text';

/** How a span was: "clean", "1 warning", "2 errors, 1 warning", "not fully observed", "1 error, not fully observed". */
export function spanWords({
  errors = 0,
  warnings = 0,
  not_observed = false,
}: Pick<ViewSpan, 'errors' | 'warnings' | 'not_observed'>): string {
  const parts: string[] = [];
  if (errors > 0) parts.push(many('errors', errors));
  if (warnings > 0) parts.push(many('warnings', warnings));
  if (not_observed) parts.push(t('partly'));
  return parts.length === 0 ? t('clean') : parts.join(', ');
}

/** How it stands since the newest checkpoint, and what of that is not known. */
export function standing(overview: Pick<Overview, 'errors' | 'warnings' | 'not_observed'>): string {
  const { errors = 0, warnings = 0, not_observed } = overview;
  const counted = errors + warnings === 0 ? t('nothingWrong') : spanWords({ errors, warnings });
  return not_observed ? t('standingPartly', counted, not_observed) : counted;
}
