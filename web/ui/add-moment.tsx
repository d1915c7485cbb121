import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { PopupMomentParams, PopupMomentResult } from '../../extension/protocol';
import { t } from '../../extension/text';
import { useAttempt } from './attempt';

const MAX_LABEL = 200;

interface AddMomentProps {
  connected: boolean;
  add: (params: PopupMomentParams) => Promise<PopupMomentResult>;
}

/** Adds a moment of the timeline, with a snapshot of all files, in every open workspace. */
export function AddMoment({ connected, add }: AddMomentProps): JSX.Element {
  const label = useSignal('');
  const added = useSignal('');
  const { busy, problem, run } = useAttempt();
  const wanted = label.value.trim();
  const disabled = !connected || busy.value || wanted === '';
  return (
    <details class="add-moment">
      <summary>{t('addMoment')}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (disabled) return;
          added.value = '';
          void run(async () => {
            const { moments } = await add({ label: wanted });
            added.value = moments.map(said).join(' ');
            label.value = '';
          });
        }}
      >
        <input
          type="text"
          aria-label={t('momentLabel')}
          placeholder={t('momentExample')}
          maxLength={MAX_LABEL}
          autocomplete="off"
          disabled={!connected}
          value={label.value}
          onInput={(event) => {
            label.value = event.currentTarget.value;
          }}
        />
        <button type="submit" disabled={disabled}>
          {t('add')}
        </button>
      </form>
      <p class={problem.value === '' ? 'hint result' : 'hint problem'} role="status">
        {problem.value || added.value || t('momentHint')}
      </p>
    </details>
  );
}

function said({ id, sessionId, reason }: PopupMomentResult['moments'][number]): string {
  return reason === undefined ? t('momentAdded', id, sessionId) : t('momentBare', id, sessionId, reason);
}
