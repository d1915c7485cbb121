/** The agent's conversation: each prompt, the calls that followed, and what each call did. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Content, File } from '../../../../extension/sessiontree';
import { many, t } from '../../../../extension/text';
import type { Difference } from '../../../../extension/timeline';
import { words } from '../../attempt';
import { SeverityMark, severityOf, severityWord } from '../../severity';
import { duration, hour } from '../format';
import type { ViewerModel } from '../model';
import { FileChanges } from '../moments/moment';
import { pretty } from '../request';
import { Rows } from '../rows';
import { fileChangeWords } from '../words';
import type { Row } from './model';

/** The prompts and calls of the session that is shown. */
export function Conversation({ model }: { model: ViewerModel }): JSX.Element {
  const { tree, rows, problem } = model.conversation;
  const search = model.text.value.toLowerCase();
  const shown = rows.value.filter(
    ({ turn, call }) =>
      search === '' || `${call === undefined ? turn.prompt : call.title}`.toLowerCase().includes(search),
  );
  const omitted = tree.value?.omitted ?? 0;
  return (
    <div class="moments-view">
      <h2>{t('conversation')}</h2>
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {tree.value?.note !== undefined && tree.value.note !== '' && <p class="quiet">{tree.value.note}</p>}
      {omitted > 0 && <p class="quiet moments-older">{many('callsOmitted', omitted)}</p>}
      {shown.length === 0 && problem.value === '' && (
        <p class="empty">{search === '' ? t('noConversation') : t('nothingMatches')}</p>
      )}
      {shown.length > 0 && (
        <Rows
          count={shown.length}
          height={30}
          label={t('conversation')}
          keyOf={(i) => shown[i]?.id ?? String(i)}
          row={(i) => {
            const row = shown[i];
            if (row === undefined) return null;
            return row.call === undefined ? (
              <Prompt model={model} row={row} />
            ) : (
              <CallRow model={model} row={row} />
            );
          }}
        />
      )}
    </div>
  );
}

interface RowProps {
  model: ViewerModel;
  row: Row;
}

function Prompt({ model, row: { turn } }: RowProps): JSX.Element {
  const open = useSignal(false);
  const { prompt = '', said = '', agent, momentId } = turn;
  return (
    <article class="moment prompt">
      <button
        type="button"
        class="moment-head"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <time dateTime={turn.at}>{hour(Date.parse(turn.at))}</time>
        <span class="moment-label">{prompt === '' ? t('promptUnknown') : prompt}</span>
        {agent !== undefined && <span class="moment-files quiet">{agent}</span>}
      </button>
      {open.value && (
        <div class="moment-whole">
          {said !== '' && (
            <>
              <h3>{t('agentSaid')}</h3>
              <p class="said-whole">{said}</p>
            </>
          )}
          {momentId !== undefined && (
            <div class="moment-does">
              <button type="button" onClick={() => void model.openMoment(momentId)}>
                {t('goToMoment', momentId)}
              </button>
            </div>
          )}
        </div>
      )}
    </article>
  );
}

function CallRow({ model, row }: RowProps): JSX.Element | null {
  const open = useSignal(false);
  const { call, turn, depth, until } = row;
  if (call === undefined) return null;
  const files = call.files ?? [];
  const severity = severityOf(call.severity);
  return (
    <article class="moment" style={{ paddingInlineStart: `${Math.min(depth + 1, 6) * 14}px` }}>
      <button
        type="button"
        class="moment-head"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        {files.length > 0 && (
          <span class="moment-severity" title={t('callSeverity', severityWord(severity))}>
            <SeverityMark severity={severity} size={13} />
          </span>
        )}
        <time dateTime={call.at}>{hour(Date.parse(call.at))}</time>
        <span class="moment-label">{call.title}</span>
        {call.outcome !== undefined && call.outcome !== 'ok' && (
          <span class="call-outcome">{call.outcome}</span>
        )}
        {(call.durationMs ?? 0) > 0 && (
          <span class="moment-files quiet">{duration(call.durationMs ?? 0)}</span>
        )}
        {files.length > 0 && <span class="moment-files quiet">{many('momentChanges', files.length)}</span>}
      </button>
      {open.value && (
        <div class="moment-whole">
          {turn.prompt !== undefined && turn.prompt !== '' && (
            <p>
              <span class="quiet">{t('callPrompt')}</span> <q>{turn.prompt}</q>
            </p>
          )}
          {call.summary !== undefined && call.summary !== '' && <p>{call.summary}</p>}
          <div class="moment-does">
            <button type="button" onClick={() => model.select({ from: call.at, to: until ?? 'now' })}>
              {t('showReport')}
            </button>
            {call.momentId !== undefined && (
              <button type="button" onClick={() => void model.openMoment(call.momentId ?? '')}>
                {t('goToMoment', call.momentId)}
              </button>
            )}
          </div>
          {files.map((file) => (
            <Changed key={`${file.path} ${file.fsSnapshotId}`} model={model} file={file} />
          ))}
          <Whole model={model} row={row} />
        </div>
      )}
    </article>
  );
}

/** Asks once, and again for another key. */
function useAnswer<T>(
  key: string,
  ask: () => Promise<T>,
): { answer: T | undefined; problem: string; done: boolean } {
  const state = useSignal<{ answer?: T; problem: string; done: boolean }>({ problem: '', done: false });
  useEffect(() => {
    let stale = false;
    ask().then(
      (answer) => {
        if (!stale) state.value = { answer, problem: '', done: true };
      },
      (error: unknown) => {
        if (!stale) state.value = { problem: words(error), done: true };
      },
    );
    return () => {
      stale = true;
    };
  }, [key]);
  const { answer, problem, done } = state.value;
  return { answer, problem, done };
}

/** A changed file with its lines. */
function Changed({ model, file }: { model: ViewerModel; file: File }): JSX.Element {
  const { answer, problem, done } = useAnswer<Difference | undefined>(
    `${file.path} ${file.since} ${file.fsSnapshotId}`,
    () => model.conversation.difference(file),
  );
  return (
    <section>
      {file.oneOf !== undefined && <Makers model={model} ids={file.oneOf} />}
      {problem !== '' && <p class="problem">{problem}</p>}
      {!done && <p class="quiet">{t('loading')}</p>}
      {answer !== undefined && answer.files.length > 0 ? (
        <FileChanges difference={answer} />
      ) : (
        done && (
          <p class="moment-changes">
            <span class="quiet">{fileChangeWords(file.change)}</span>{' '}
            <code>{file.from === undefined ? file.path : `${file.from} → ${file.path}`}</code>
          </p>
        )
      )}
    </section>
  );
}

/** The calls of which one changed a file, as the rows above show them. */
export function Makers({ model, ids }: { model: ViewerModel; ids: readonly string[] }): JSX.Element {
  const { calls, older } = model.conversation.makers(ids);
  return (
    <>
      <p class="quiet">{t('oneOfCalls')}</p>
      <ul class="moment-changes">
        {calls.map(({ id, at, title }) => (
          <li key={id}>
            <time dateTime={at}>{hour(Date.parse(at))}</time> {title}
          </li>
        ))}
        {older > 0 && <li class="quiet">{many('makersOlder', older)}</li>}
      </ul>
    </>
  );
}

/** What a call was given and returned. */
function Whole({ model, row: { turn, call } }: RowProps): JSX.Element | null {
  const { answer, problem } = useAnswer<Content | undefined>(
    `${turn.recording} ${call?.callId}`,
    async () => call && (await model.conversation.content(turn, call)),
  );
  if (problem !== '') return <p class="quiet">{problem}</p>;
  return (
    <>
      {(['input', 'output'] as const).map((what) => {
        const text = answer?.[what] ?? '';
        return (
          text !== '' && (
            <details key={what}>
              <summary>{t(what === 'input' ? 'callInput' : 'callOutput')}</summary>
              <pre class="body">{pretty(text)}</pre>
            </details>
          )
        );
      })}
    </>
  );
}
