/** The checkpoints in order: the session's timeline as a person reads it. */

import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ViewCheckpoint } from '../../../extension/protocol';
import { t } from '../../../extension/text';
import { AddMoment } from '../add-moment';
import { useAttempt } from '../attempt';
import { CONVENTIONAL, MAX_CHECKPOINT_NAME, nameProblem } from '../checkpoint-name';
import { Span } from '../span';
import { moment } from './format';
import type { ViewerModel } from './model';

/** The list, what is new since the newest, and the form for another. */
export function Checkpoints({ model }: { model: ViewerModel }): JSX.Element {
  const answer = model.checkpoints.value;
  const list = answer?.checkpoints ?? [];
  const selection = model.selection.value;
  const shown = useRef<HTMLOListElement>(null);
  // The newest are in view, whichever of the two scrolls.
  useEffect(() => {
    for (const frame of [shown.current, shown.current?.parentElement]) {
      if (frame != null) frame.scrollTop = frame.scrollHeight;
    }
  }, [list.length]);
  const isNow = selection.to === 'now' && selection.from === model.since.value;
  return (
    <nav class="checkpoints" aria-label={t('checkpoints')}>
      <h2>{t('checkpoints')}</h2>
      <ol class="checkpoint-list" ref={shown}>
        {list.map((checkpoint, i) => (
          <Item
            key={checkpoint.moment}
            model={model}
            checkpoint={checkpoint}
            selected={
              selection.to === checkpoint.moment && selection.from === (list[i - 1]?.moment ?? 'start')
            }
          />
        ))}
        {answer !== undefined && (
          <li class={isNow ? 'checkpoint now selected' : 'checkpoint now'}>
            <button type="button" class="pick" aria-current={isNow} onClick={() => model.select(undefined)}>
              <span class="name">{t('now')}</span>
              <span class="arrow">→</span>
              <Span span={answer.now} />
            </button>
          </li>
        )}
      </ol>
      {list.length === 0 && <p class="quiet">{t('noCheckpoints')}</p>}
      <Create model={model} />
      <AddMoment
        connected={model.client.connection.value.state === 'connected'}
        add={(params) => model.client.ask('view_moment', params)}
      />
    </nav>
  );
}

interface ItemProps {
  model: ViewerModel;
  checkpoint: ViewCheckpoint;
  selected: boolean;
}

function Item({ model, checkpoint, selected }: ItemProps): JSX.Element {
  const { name, moment: itself, at, since, note, scope } = checkpoint;
  const renaming = useSignal(false);
  const confirming = useSignal(false);
  const menu = useRef<HTMLDetailsElement>(null);
  const closeMenu = (): void => {
    if (menu.current !== null) menu.current.open = false;
  };
  const chosen = model.selection.value;
  return (
    <li class={selected ? 'checkpoint selected' : 'checkpoint'}>
      {renaming.value ? (
        <Rename
          name={name}
          rename={(to) => model.renameCheckpoint(itself, to)}
          onClose={() => {
            renaming.value = false;
          }}
        />
      ) : (
        <button type="button" class="pick" aria-current={selected} onClick={() => model.selectUntil(itself)}>
          <span class="name" title={name}>
            {name}
          </span>
          <span class="arrow">→</span>
          <Span span={since} />
          {note !== undefined && note !== '' && <span class="note">({note})</span>}
          <span class="when">
            <time dateTime={new Date(at).toISOString()}>{moment(at)}</time>
            {scope !== undefined && <span> · {scope === 'all' ? t('ofAllTabs') : scope}</span>}
          </span>
        </button>
      )}
      <details
        class="menu"
        ref={menu}
        onToggle={() => {
          confirming.value = false;
        }}
        onFocusOut={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) closeMenu();
        }}
      >
        <summary aria-label={t('menuOf', itself)} title={t('menuOf', itself)}>
          ⋯
        </summary>
        <div class="menu-items">
          <button
            type="button"
            onClick={() => {
              closeMenu();
              model.select({ from: itself, to: 'now' });
            }}
          >
            {t('compareWithNow')}
          </button>
          <button
            type="button"
            disabled={chosen.from === itself}
            onClick={() => {
              closeMenu();
              model.select({ from: chosen.from, to: itself });
            }}
          >
            {t('compareWith', model.nameOf(chosen.from))}
          </button>
          <button
            type="button"
            onClick={() => {
              closeMenu();
              model.select(chosen, model.until(itself));
            }}
          >
            {t('sideBySide')}
          </button>
          <button
            type="button"
            onClick={() => {
              closeMenu();
              renaming.value = true;
            }}
          >
            {t('rename')}
          </button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              if (!confirming.value) {
                confirming.value = true;
                return;
              }
              closeMenu();
              void model.deleteCheckpoint(itself);
            }}
          >
            {confirming.value ? t('deleteSure') : t('delete')}
          </button>
        </div>
      </details>
    </li>
  );
}

interface Naming {
  /** What is wrong with the name as it is typed; "" for nothing. */
  wrong: string;
  /** That, or why it was refused. */
  problem: string;
  busy: boolean;
  /** Has the name be taken, where nothing is wrong with it. */
  submit: (take: (name: string) => Promise<void>, done: () => void) => Promise<void>;
}

/** For a field in which a checkpoint's name is typed: a refusal stands until another name is. */
function useNaming(typed: Signal<string>): Naming {
  const attempt = useAttempt();
  const tried = useSignal('');
  const wrong = nameProblem(typed.value);
  return {
    wrong,
    problem: wrong || (typed.value === tried.value ? attempt.problem.value : ''),
    busy: attempt.busy.value,
    submit: async (take, done) => {
      const name = typed.value;
      if (attempt.busy.value || nameProblem(name) !== '') return;
      tried.value = name;
      await attempt.run(async () => {
        await take(name);
        done();
      });
    },
  };
}

interface RenameProps {
  name: string;
  rename: (to: string) => Promise<void>;
  onClose: () => void;
}

function Rename({ name, rename, onClose }: RenameProps): JSX.Element {
  const typed = useSignal(name);
  const { wrong, problem, submit, busy } = useNaming(typed);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  return (
    <form
      class="rename"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.value === name) onClose();
        else void submit(rename, onClose);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <input
        ref={input}
        type="text"
        aria-label={t('newNameOf', name)}
        aria-invalid={problem !== ''}
        value={typed.value}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          typed.value = event.currentTarget.value;
        }}
      />
      <button type="submit" disabled={busy || wrong !== ''}>
        {t('ok')}
      </button>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

function Create({ model }: { model: ViewerModel }): JSX.Element {
  const name = useSignal('');
  const note = useSignal('');
  const { wrong, submit, busy, ...naming } = useNaming(name);
  const problem = name.value === '' ? '' : naming.problem;
  const connected = model.client.connection.value.state === 'connected';
  const disabled = !connected || busy;
  return (
    <form
      class="create"
      onSubmit={(event) => {
        event.preventDefault();
        if (disabled) return;
        void submit(
          (wanted) => model.createCheckpoint(wanted, note.value.trim()),
          () => {
            name.value = '';
            note.value = '';
          },
        );
      }}
    >
      <input
        id="checkpoint-name"
        type="text"
        list="conventional"
        placeholder={t('newCheckpoint')}
        aria-label={t('newCheckpoint')}
        aria-describedby="naming"
        aria-invalid={problem !== ''}
        maxLength={MAX_CHECKPOINT_NAME * 2}
        spellcheck={false}
        autocomplete="off"
        disabled={!connected}
        value={name.value}
        onInput={(event) => {
          name.value = event.currentTarget.value;
        }}
      />
      <datalist id="conventional">
        {CONVENTIONAL.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      {name.value !== '' && (
        <input
          type="text"
          placeholder={t('note')}
          aria-label={t('note')}
          maxLength={200}
          value={note.value}
          onInput={(event) => {
            note.value = event.currentTarget.value;
          }}
        />
      )}
      <button type="submit" class="primary" disabled={disabled || wrong !== ''}>
        {t('set')}
      </button>
      <p id="naming" role="status" class={problem === '' ? 'hint quiet' : 'hint problem'}>
        {problem || t('namingRule')}
      </p>
    </form>
  );
}
