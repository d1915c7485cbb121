/** The edit after which something first appeared, as an entry of a report names it. */
import type { JSX } from 'preact';
import type { Introduced } from '../../../../extension/report';
import { type TextKey, t } from '../../../../extension/text';
import type { ViewerModel } from '../model';

const EVIDENCE: Readonly<Record<string, TextKey>> = {
  stack: 'evidenceStack',
  hot_update: 'evidenceUpdate',
  order: 'evidenceOrder',
};

/** What the edit was found by, as a person reads it. */
export function evidence(by: Introduced): string {
  return by.evidence.map((kind) => (EVIDENCE[kind] === undefined ? kind : t(EVIDENCE[kind]))).join(', ');
}

/** The changed place. */
export function place({ path, line = 0 }: Introduced): string {
  return line === 0 ? path : `${path}:${line}`;
}

/** The edit in a few words, "" for none. */
export function introducedText(by: Introduced | undefined): string {
  return by === undefined ? '' : t('introducedBy', place(by), by.moment.replace(/@.*$/, ''));
}

/** The edit; opens its moment. */
export function IntroducedBy({
  model,
  by,
}: {
  model: ViewerModel;
  by: Introduced | undefined;
}): JSX.Element | null {
  if (by === undefined) return null;
  return (
    <button
      type="button"
      class="link introduced"
      title={t('introducedTitle', evidence(by))}
      onClick={() => void model.openMoment(by.moment)}
    >
      {introducedText(by)}
    </button>
  );
}
