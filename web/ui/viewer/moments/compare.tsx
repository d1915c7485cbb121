/** What became of a branch, beside its original or another branch. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Comparison, Side } from '../../../../extension/branches';
import type { Report } from '../../../../extension/report';
import { many, t } from '../../../../extension/text';
import { words } from '../../attempt';
import { SeverityMark, severityOf, severityWord } from '../../severity';
import { duration } from '../format';
import type { ViewerModel } from '../model';

/** Compares the session that is shown. The other side can be chosen. */
export function Compare({ model, close }: { model: ViewerModel; close: () => void }): JSX.Element {
  const { chosen, sessions } = model.moments;
  const other = useSignal('');
  const answer = useSignal<Comparison | undefined>(undefined);
  const problem = useSignal('');
  const id = chosen.value;
  const beside = other.value;
  useEffect(() => {
    let stale = false;
    answer.value = undefined;
    problem.value = '';
    model.moments.compare(id, beside).then(
      (found) => {
        if (!stale) answer.value = found;
      },
      (error: unknown) => {
        if (!stale) problem.value = words(error);
      },
    );
    return () => {
      stale = true;
    };
  }, [id, beside]);
  const own = sessions.value.find(({ sessionId }) => sessionId === id);
  const siblings = sessions.value.filter(
    ({ sessionId, sessionBranchOf }) =>
      sessionId !== id && sessionBranchOf?.sessionId === own?.sessionBranchOf?.sessionId,
  );
  const c = answer.value;
  return (
    <section class="compare" aria-live="polite">
      <header>
        <h3>{t('compareTitle')}</h3>
        {siblings.length > 0 && (
          <select
            aria-label={t('compareWith')}
            value={beside}
            onChange={(event) => {
              other.value = event.currentTarget.value;
            }}
          >
            <option value="">{t('compareOriginal')}</option>
            {siblings.map(({ sessionId, name }) => (
              <option key={sessionId} value={sessionId}>
                {name ?? sessionId}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="close" aria-label={t('close')} onClick={close}>
          ×
        </button>
      </header>
      {problem.value !== '' && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      {c === undefined && problem.value === '' && <p class="quiet">{t('loading')}</p>}
      {c !== undefined && <Sides comparison={c} />}
    </section>
  );
}

function Sides({ comparison: { a, b, different } }: { comparison: Comparison }): JSX.Element {
  const row = (name: string, of: (side: Side) => JSX.Element | string): JSX.Element => (
    <tr>
      <th scope="row">{name}</th>
      <td>{of(a)}</td>
      <td>{of(b)}</td>
    </tr>
  );
  return (
    <table>
      <thead>
        <tr>
          <td />
          <th scope="col">{a.name ?? a.sessionId}</th>
          <th scope="col">{b.name ?? t('compareOriginal')}</th>
        </tr>
      </thead>
      <tbody>
        {row(t('compareBrowser'), Ending)}
        {row(t('compareReported'), (side) => (
          <Reported report={side.browser} />
        ))}
        {row(t('compareTests'), (side) => (
          <Tests side={side} />
        ))}
        {row(t('compareCalls'), ({ calls, failedCalls }) => t('compareCallsOf', calls, failedCalls))}
        {row(t('compareTokens'), ({ tokens }) =>
          tokens === undefined ? t('compareUnknown') : t('compareTokensOf', tokens.input, tokens.output),
        )}
        {row(t('compareTime'), ({ workedSec }) => duration(workedSec * 1000))}
        {row(
          t('compareFirst'),
          ({ first, files }) => first || t(files.length > 0 ? 'compareUnknown' : 'compareNothing'),
        )}
        {row(t('compareFiles'), (side) => (
          <Files side={side} different={different} />
        ))}
      </tbody>
    </table>
  );
}

function Ending({ severity }: Side): JSX.Element {
  const how = severityOf(severity);
  return (
    <span class="compare-end">
      <SeverityMark severity={how} size={14} /> {severityWord(how)}
    </span>
  );
}

/** The errors that are quoted of a report. */
const QUOTED = 3;

/** What the browser reported, in a line, with its first errors. */
function Reported({ report }: { report: Report | undefined }): JSX.Element {
  if (report === undefined) return <span class="quiet">{t('compareUnknown')}</span>;
  const errors = [
    ...(report.console?.new_errors ?? []).map(({ message }) => message),
    ...(report.network?.failures ?? []).map(({ method, url, status }) => `${method} ${url} ${status}`),
  ];
  return (
    <>
      {report.summary}
      {errors.slice(0, QUOTED).map((text, i) => (
        <q key={i}>{text}</q>
      ))}
    </>
  );
}

/** The files that are listed. */
const LISTED = 8;

function Files({ side, different }: { side: Side; different: string[] }): JSX.Element {
  if (side.filesProblem !== undefined) {
    return (
      <span class="quiet" title={side.filesProblem}>
        {t('compareUnknown')}
      </span>
    );
  }
  return (
    <>
      {many('momentChanges', side.files.length)} <span class="plus">+{side.added}</span>{' '}
      <span class="minus">−{side.removed}</span>
      <ul>
        {side.files.slice(0, LISTED).map((path) => (
          <li key={path}>
            <code>{path}</code>
            {different.includes(path) && <span class="quiet"> {t('compareDiffers')}</span>}
          </li>
        ))}
        {side.files.length > LISTED && <li class="quiet">{t('compareMore', side.files.length - LISTED)}</li>}
      </ul>
    </>
  );
}

function Tests({ side: { tests } }: { side: Side }): JSX.Element {
  if (tests.length === 0) return <span class="quiet">{t('compareNotRun')}</span>;
  return (
    <ul>
      {tests.slice(-LISTED).map(({ at, label, passed, exit }) => (
        <li key={at}>
          <span class={passed ? 'plus' : 'minus'}>{label}</span>
          {exit !== undefined && <span class="quiet"> {t('exitStatus', String(exit))}</span>}
        </li>
      ))}
    </ul>
  );
}
