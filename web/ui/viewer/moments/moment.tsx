/** A moment: what changed in the files up to it, and the ways back. */
import { type Signal, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { many, t } from '../../../../extension/text';
import type { BranchPlan, Difference, ListMoment, Restored } from '../../../../extension/timeline';
import { useAttempt, words } from '../../attempt';
import { SeverityMark, severityOf, severityWord } from '../../severity';
import { duration, hour, size } from '../format';
import { iso, type ViewerModel } from '../model';
import { fileChangeWords } from '../words';
import { stillBroken, terminalWords } from './model';

interface RowProps {
  model: ViewerModel;
  moment: ListMoment;
  /** The moment before it, which its changes are counted from. */
  before: ListMoment | undefined;
  /** The moment after it, up to which the browser's severity counts. */
  next: ListMoment | undefined;
  /** How many files changed since the snapshot before; undefined where that is not known. */
  files: number | undefined;
}

/** The agents that can be started in a branch, as the command line names them. */
const AGENTS = ['claude', 'codex', 'copilot', 'gemini', 'opencode'];

/** What is open below a moment. */
type Open = 'changes' | 'restore' | 'branch';

/** A moment in a list. */
export function MomentRow({ model, moment, before, next, files }: RowProps): JSX.Element {
  const open = useSignal<Open | undefined>(undefined);
  const at = Date.parse(moment.at);
  const severity = severityOf(moment.severity);
  useSignalEffect(() => {
    if (model.moments.sought.value?.id === moment.id) open.value = 'changes';
  });
  // Its changes are counted from the one before it, which may not be there yet.
  const lacks =
    open.value !== undefined && before === undefined && (model.moments.list.value?.omitted ?? 0) > 0;
  useEffect(() => {
    if (lacks) void model.moments.older();
  }, [lacks]);
  return (
    <article class="moment">
      <button
        type="button"
        class="moment-head"
        aria-expanded={open.value !== undefined}
        onClick={() => {
          open.value = open.value === undefined ? 'changes' : undefined;
          model.moments.sought.value = undefined; // what a user closed stays closed
        }}
      >
        <span class="moment-severity" title={t('momentSeverity', severityWord(severity))}>
          <SeverityMark severity={severity} size={13} />
        </span>
        <time dateTime={moment.at}>{hour(at)}</time>
        <code class="moment-id">{moment.id}</code>
        <span class="moment-kind">{moment.kind}</span>
        <span class="moment-label">{moment.label}</span>
        {moment.brokenSince !== undefined && (
          <span class="moment-broken quiet">{stillBroken(moment.brokenSince)}</span>
        )}
        {files !== undefined && files > 0 && (
          <span class="moment-files quiet">{many('momentChanges', files)}</span>
        )}
      </button>
      {open.value !== undefined && (
        <div class="moment-whole">
          {moment.notes !== undefined && moment.notes !== '' && <p>{moment.notes}</p>}
          {moment.exit !== undefined && <p class="quiet">{t('exitStatus', String(moment.exit))}</p>}
          {moment.terminal?.command !== undefined && <pre class="body">{moment.terminal.command}</pre>}
          {moment.terminal !== undefined && (
            <p class="quiet">
              {terminalWords(moment.terminal, moment.anchor !== undefined)} ·{' '}
              <code>{moment.terminal.recording}</code>
            </p>
          )}
          {moment.fsSnapshot === false ? (
            <p class="said">{t('noFileSnapshot', moment.reason ?? '')}</p>
          ) : (
            moment.lateSec !== undefined && (
              <p class="quiet">{t('snapshotLate', moment.lateSec.toFixed(1))}</p>
            )
          )}
          <div class="moment-does">
            <button
              type="button"
              onClick={() => model.select({ from: iso(at), to: next === undefined ? 'now' : next.at })}
            >
              {t('showReport')}
            </button>
            {moment.fsSnapshot !== false &&
              (['restore', 'branch'] as const).map((what) => (
                <button
                  key={what}
                  type="button"
                  aria-pressed={open.value === what}
                  onClick={() => {
                    open.value = open.value === what ? 'changes' : what;
                  }}
                >
                  {t(what === 'restore' ? 'restoreFiles' : 'branchFrom')}
                </button>
              ))}
          </div>
          {open.value === 'restore' && <Restore model={model} moment={moment} open={open} />}
          {open.value === 'branch' && <Branch model={model} moment={moment} open={open} />}
          {open.value === 'changes' &&
            moment.fsSnapshot !== false &&
            (lacks ? (
              <p class="quiet">{t('loading')}</p>
            ) : (
              <Changes model={model} moment={moment} before={before} />
            ))}
        </div>
      )}
    </article>
  );
}

function Changes({ model, moment, before }: Omit<RowProps, 'files' | 'next'>): JSX.Element {
  const answer = useSignal<Difference | undefined>(undefined);
  const problem = useSignal('');
  // A moment without a snapshot has no files: they are compared with those of the last one that has.
  const from = before?.id;
  useEffect(() => {
    let stale = false;
    if (from === undefined) return;
    model.moments.difference(from, moment.id).then(
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
  }, [from, moment.id]);
  if (from === undefined) return <p class="quiet">{t('firstMoment')}</p>;
  if (problem.value !== '') return <p class="problem">{problem.value}</p>;
  const d = answer.value;
  if (d === undefined) return <p class="quiet">{t('loading')}</p>;
  if (d.files.length === 0) return <p class="quiet">{t('noFilesChanged', from)}</p>;
  return <FileChanges difference={d} />;
}

/** Changed files, and a diff of their lines. */
export function FileChanges({ difference: d }: { difference: Difference }): JSX.Element {
  return (
    <>
      <ul class="moment-changes">
        {d.files.map((file) => (
          <li key={file.path}>
            <span class="quiet">{fileChangeWords(file.change)}</span>{' '}
            {file.oldPath !== undefined && (
              <>
                <code>{file.oldPath}</code> →{' '}
              </>
            )}
            <code>{file.path}</code>
            {file.counted && (
              <span class="moment-lines">
                {' '}
                <span class="plus">+{file.added ?? 0}</span> <span class="minus">−{file.removed ?? 0}</span>
              </span>
            )}
            {file.why !== undefined && file.why !== '' && <span class="quiet"> {file.why}</span>}
          </li>
        ))}
      </ul>
      {d.text !== undefined && d.text !== '' && <pre class="body moment-diff">{coloured(d.text)}</pre>}
    </>
  );
}

/** A unified diff, each line in its colour. */
function coloured(text: string): JSX.Element[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line, i) => {
      const kind = /^(?:\+\+\+|---|diff |#)/.test(line)
        ? 'quiet'
        : line.startsWith('+')
          ? 'plus'
          : line.startsWith('-')
            ? 'minus'
            : line.startsWith('@@')
              ? 'hunk'
              : undefined;
      return (
        <span key={i} class={kind}>
          {line}
          {'\n'}
        </span>
      );
    });
}

interface DoProps {
  model: ViewerModel;
  moment: ListMoment;
  open: Signal<Open | undefined>;
}

/** Why the last attempt failed, if it did. It is scrolled into view with what follows it: a form can be longer than the panel. */
function Problem({ problem }: { problem: Signal<string> }): JSX.Element | null {
  const shown = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    shown.current?.nextElementSibling?.scrollIntoView({ block: 'nearest' });
    shown.current?.scrollIntoView({ block: 'nearest' });
  }, [problem.value]);
  if (problem.value === '') return null;
  return (
    <p ref={shown} class="problem" role="alert">
      {problem.value}
    </p>
  );
}

/** Goes back to what changed. */
function Cancel({ open }: Pick<DoProps, 'open'>): JSX.Element {
  return (
    <button
      type="button"
      onClick={() => {
        open.value = 'changes';
      }}
    >
      {t('cancel')}
    </button>
  );
}

/** What a restore would do, and the restore. */
function Restore({ model, moment, open }: DoProps): JSX.Element {
  const plan = useSignal<Restored | undefined>(undefined);
  const { busy, problem, run } = useAttempt();
  useEffect(() => {
    void run(async () => {
      plan.value = await model.moments.restore(moment.id);
    });
  }, [moment.id]);
  const p = plan.value;
  const count = p === undefined ? 0 : Object.values(p.changes).reduce((sum, n) => sum + n, 0);
  return (
    <div class="moment-plan">
      <Problem problem={problem} />
      {p === undefined && problem.value === '' && <p class="quiet">{t('loading')}</p>}
      {p !== undefined && (
        <>
          <p>{count === 0 ? t('restoreNothing', moment.id) : many('restorePlan', count, moment.id)}</p>
          <ul class="moment-changes">
            {p.steps.map(({ path, change }) => (
              <li key={path}>
                <span class="quiet">{change}</span> <code>{path}</code>
              </li>
            ))}
          </ul>
          {(p.omitted ?? 0) > 0 && <p class="quiet">{many('restoreOmitted', p.omitted ?? 0)}</p>}
          {(p.blocked ?? []).map((line) => (
            <p key={line} class="problem">
              {line}
            </p>
          ))}
          {p.note !== undefined && p.note !== '' && <p class="said">{p.note}</p>}
          {count > 0 && (
            <div class="moment-does">
              <button
                type="button"
                class="danger"
                disabled={busy.value}
                onClick={() =>
                  void run(async () => {
                    const made = await model.moments.restore(moment.id, p);
                    if (made.done) open.value = undefined;
                    else plan.value = made;
                  })
                }
              >
                {t('restoreNow')}
              </button>
              <Cancel open={open} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** A new session with the files of a moment. */
function Branch({ model, moment, open }: DoProps): JSX.Element {
  const name = useSignal('');
  const message = useSignal('');
  const agent = useSignal('');
  const plan = useSignal<BranchPlan | undefined>(undefined);
  const { busy, problem, run } = useAttempt();
  const p = plan.value;
  return (
    <form
      class="moment-plan"
      onSubmit={(event) => {
        event.preventDefault();
        void run(async () => {
          plan.value = await model.moments.branch(
            moment.id,
            name.value.trim(),
            message.value.trim(),
            agent.value,
            plan.value !== undefined,
          );
          if (plan.value === undefined) open.value = undefined;
        });
      }}
    >
      <input
        type="text"
        required
        maxLength={50}
        pattern="[a-z0-9][a-z0-9_\-]*"
        title={t('branchNameRule')}
        placeholder={t('branchName')}
        aria-label={t('branchName')}
        value={name.value}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
      />
      <textarea
        rows={3}
        placeholder={t('branchMessage')}
        aria-label={t('branchMessage')}
        value={message.value}
        onInput={(event) => {
          message.value = event.currentTarget.value;
        }}
      />
      <select
        aria-label={t('branchAgent')}
        value={agent.value}
        disabled={message.value.trim() === ''}
        onChange={(event) => {
          agent.value = event.currentTarget.value;
        }}
      >
        <option value="">{t('branchAgentOfMoment')}</option>
        {AGENTS.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
        <option value="none">{t('branchAgentNone')}</option>
      </select>
      {p !== undefined && (
        <p class="said" role="status">
          {t('branchPlan', duration(p.seconds * 1000), String(p.files), size(p.bytes), p.why)}
        </p>
      )}
      <Problem problem={problem} />
      <div class="moment-does">
        <button type="submit" class="primary" disabled={busy.value || name.value.trim() === ''}>
          {t(p === undefined ? 'branchMake' : 'branchCopy')}
        </button>
        <Cancel open={open} />
      </div>
    </form>
  );
}
