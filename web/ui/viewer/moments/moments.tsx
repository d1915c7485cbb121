/** Sessions, their moments, and what can be done with the files of one: compare, restore, branch. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { many, t } from '../../../../extension/text';
import type { About } from '../../../../extension/timeline';
import { useAttempt } from '../../attempt';
import { baseName, moment as instant } from '../format';
import type { ViewerModel } from '../model';
import { Rows } from '../rows';
import { Broke } from './broke';
import { Compare } from './compare';
import { MomentRow } from './moment';

/** The moments of a session. */
export function Moments({ model }: { model: ViewerModel }): JSX.Element {
  const { sessions, list, chosen, problem, broke, sought } = model.moments;
  const finding = useAttempt();
  const reading = useAttempt();
  const comparing = useSignal('');
  const older = list.value?.omitted ?? 0;
  const search = model.text.value.toLowerCase();
  const all = list.value?.moments ?? [];
  const shown = all.filter(
    ({ id, label, kind }) => search === '' || `${id} ${kind} ${label}`.toLowerCase().includes(search),
  );
  return (
    <div class="moments-view">
      <div class="moments-head">
        <h2>{t('moments')}</h2>
        {sessions.value.length > 0 && (
          <select
            aria-label={t('session')}
            value={chosen.value}
            onChange={(event) => void model.moments.choose(event.currentTarget.value)}
          >
            {sessions.value.map((one) => (
              <option key={one.sessionId} value={one.sessionId} title={one.workspace}>
                {sessionName(one)}
              </option>
            ))}
          </select>
        )}
        {list.value?.sessionBranchOf !== undefined && (
          <button
            type="button"
            aria-pressed={comparing.value === chosen.value}
            onClick={() => {
              comparing.value = comparing.value === chosen.value ? '' : chosen.value;
            }}
          >
            {t('compare')}
          </button>
        )}
        {list.value !== undefined && (
          <button
            type="button"
            disabled={finding.busy.value}
            aria-busy={finding.busy.value}
            title={t('findBreakTitle')}
            onClick={() => void finding.run(() => model.moments.find())}
          >
            {t('findBreak')}
          </button>
        )}
      </div>
      {finding.problem.value !== '' && (
        <p class="problem" role="alert">
          {finding.problem.value}
        </p>
      )}
      {comparing.value !== '' && comparing.value === chosen.value && (
        <Compare
          model={model}
          close={() => {
            comparing.value = '';
          }}
        />
      )}
      {broke.value !== undefined && <Broke model={model} found={broke.value} />}
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {sessions.value.length === 0 && problem.value === '' && <p class="empty">{t('noSessions')}</p>}
      {list.value !== undefined && <Origin list={list.value} />}
      {list.value?.problem !== undefined && list.value.problem !== '' && (
        <p class="problem">{list.value.problem}</p>
      )}
      {list.value !== undefined && shown.length === 0 && (
        <p class="empty">{search === '' ? t('noMoments') : t('nothingMatches')}</p>
      )}
      {older > 0 && (
        <p class="quiet moments-older">
          {many('momentsOmitted', older)}{' '}
          <button
            type="button"
            class="link"
            disabled={reading.busy.value}
            onClick={() => void reading.run(() => model.moments.older())}
          >
            {t('momentsOlder')}
          </button>
          {reading.problem.value !== '' && <span class="problem">{reading.problem.value}</span>}
        </p>
      )}
      {shown.length > 0 && (
        <Rows
          count={shown.length}
          height={30}
          label={t('moments')}
          keyOf={(i) => shown[i]?.id ?? String(i)}
          sought={sought.value}
          row={(i) => {
            const one = shown[i];
            if (one === undefined) return null;
            const at = all.indexOf(one);
            const before = all[at - 1];
            return (
              <MomentRow model={model} moment={one} before={before} next={all[at + 1]} files={one.changed} />
            );
          }}
        />
      )}
    </div>
  );
}

/** A session by its directory, and when it began. */
function sessionName({ name, workspace, startedAt, endedAt }: About): string {
  const of = name || baseName(workspace);
  const at = instant(Date.parse(startedAt));
  return endedAt === undefined ? t('sessionSince', of, at) : t('sessionOver', of, at);
}

/** Where a branch comes from, and the message for its agent. */
function Origin({ list: { workspace, sessionBranchOf, injectedMessage } }: { list: About }): JSX.Element {
  return (
    <p class="quiet moments-origin">
      <code>{workspace}</code>
      {sessionBranchOf !== undefined && (
        <span>
          {' '}
          {t('branchOf', sessionBranchOf.sessionId, sessionBranchOf.momentId ?? sessionBranchOf.fsSnapshotId)}
        </span>
      )}
      {injectedMessage !== undefined && injectedMessage !== '' && <q>{injectedMessage}</q>}
    </p>
  );
}
