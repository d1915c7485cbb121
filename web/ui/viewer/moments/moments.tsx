/** Sessions, their moments, and what can be done with the files of one: compare, restore, branch. */
import type { JSX } from 'preact';
import { many, t } from '../../../../extension/text';
import type { About } from '../../../../extension/timeline';
import { moment as instant } from '../format';
import type { ViewerModel } from '../model';
import { Rows } from '../rows';
import { MomentRow } from './moment';

/** The moments of a session. */
export function Moments({ model }: { model: ViewerModel }): JSX.Element {
  const { sessions, list, chosen, problem } = model.moments;
  const search = model.text.value.toLowerCase();
  const all = list.value?.moments ?? [];
  const shown = all.filter(
    ({ id, label, kind }) => search === '' || `${id} ${kind} ${label}`.toLowerCase().includes(search),
  );
  const changed = new Map((list.value?.fsSnapshots ?? []).map((one) => [one.id, one.changed]));
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
      </div>
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {sessions.value.length === 0 && problem.value === '' && <p class="empty">{t('noSessions')}</p>}
      {list.value !== undefined && <Origin list={list.value} />}
      {list.value !== undefined && shown.length === 0 && (
        <p class="empty">{search === '' ? t('noMoments') : t('nothingMatches')}</p>
      )}
      {(list.value?.omitted ?? 0) > 0 && (
        <p class="quiet">{many('momentsOmitted', list.value?.omitted ?? 0)}</p>
      )}
      {shown.length > 0 && (
        <Rows
          count={shown.length}
          height={32}
          label={t('moments')}
          keyOf={(i) => shown[i]?.id ?? String(i)}
          row={(i) => {
            const one = shown[i];
            if (one === undefined) return null;
            const before = all[all.indexOf(one) - 1];
            // A moment may share the snapshot of the one before: nothing changed between them.
            const files =
              one.fsSnapshot === false || one.fsSnapshot === before?.fsSnapshot
                ? undefined
                : changed.get(one.fsSnapshot);
            return <MomentRow model={model} moment={one} before={before} files={files} />;
          }}
        />
      )}
    </div>
  );
}

/** A session by its directory, and when it began. */
function sessionName({ name, workspace, startedAt, endedAt }: About): string {
  const of = name || workspace.split(/[/\\]/).findLast(Boolean) || workspace;
  const at = instant(Date.parse(startedAt));
  return endedAt === undefined ? t('sessionSince', of, at) : t('sessionOver', of, at);
}

/** Where a branch comes from, and the message for its agent. */
function Origin({ list: { workspace, sessionBranchOf, injectedMessage } }: { list: About }): JSX.Element {
  return (
    <p class="quiet moments-origin">
      <code>{workspace}</code>
      {sessionBranchOf !== undefined && (
        <span> {t('branchOf', sessionBranchOf.momentId ?? sessionBranchOf.fsSnapshotId)}</span>
      )}
      {injectedMessage !== undefined && injectedMessage !== '' && <q>{injectedMessage}</q>}
    </p>
  );
}
