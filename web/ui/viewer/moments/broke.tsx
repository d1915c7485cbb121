/** What broke in a session: the moment, the first error and the change of files, from what was recorded. */
import type { JSX } from 'preact';
import type { Regression } from '../../../../extension/regression';
import { t } from '../../../../extension/text';
import { type Severity, SeverityMark } from '../../severity';
import { hour } from '../format';
import type { ViewerModel } from '../model';
import { evidence, place } from './introduced';
import { FileChanges } from './moment';

const SEVERITIES: Readonly<Record<string, Severity>> = { found: 'error', clean: 'clean' };

/** The answer to what broke. */
export function Broke({ model, found }: { model: ViewerModel; found: Regression }): JSX.Element {
  const { moment, label, before, problem, introduced_by: by, diff } = found;
  return (
    <section class="broke" aria-live="polite">
      <header>
        <SeverityMark severity={SEVERITIES[found.verdict] ?? 'unknown'} size={18} />
        <strong>
          {moment !== undefined
            ? t('brokeAt', moment, label ?? '')
            : t(found.verdict === 'clean' ? 'brokeNothing' : 'brokeUnknown', found.reason ?? '')}
        </strong>
        <button
          type="button"
          class="close"
          aria-label={t('close')}
          onClick={() => {
            model.moments.broke.value = undefined;
          }}
        >
          ×
        </button>
      </header>
      {problem !== undefined && (
        <p>
          {t('brokeFirst', hour(Date.parse(problem.at)))} <q>{problem.message}</q>
          {problem.source !== undefined && problem.source !== '' && (
            <>
              {' '}
              <code>{problem.source}</code>
            </>
          )}
        </p>
      )}
      {by !== undefined && <p class="quiet">{t('brokeEvidence', place(by), evidence(by))}</p>}
      {found.note !== undefined && found.note !== '' && <p class="quiet">{found.note}</p>}
      {moment !== undefined && (
        <div class="moment-does">
          <OpenMoment model={model} moment={moment} />
          {before !== undefined && before !== '' && <OpenMoment model={model} moment={before} before />}
        </div>
      )}
      {diff !== undefined && <FileChanges difference={diff} />}
    </section>
  );
}

/** Goes to a moment in the list. */
function OpenMoment({
  model,
  moment,
  before = false,
}: {
  model: ViewerModel;
  moment: string;
  before?: boolean;
}): JSX.Element {
  return (
    <button type="button" onClick={() => void model.openMoment(moment)}>
      {t(before ? 'openMomentBefore' : 'openMoment', moment)}
    </button>
  );
}
