import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { words } from '../../web/ui/attempt';
import { CONVENTIONAL, MAX_CHECKPOINT_NAME, nameProblem } from '../../web/ui/checkpoint-name';
import { Span } from '../../web/ui/span';
import { shortTime } from '../../web/ui/times';
import type { CheckpointLine, CheckpointResult } from '../protocol';
import { t } from '../text';
import type { WorkerClient } from './worker-client';

const RECENT = 4;

interface CheckpointsProps {
  connected: boolean;
  checkpoints: readonly CheckpointLine[];
  client: WorkerClient;
}

/** Sets checkpoints, and lists the newest. */
export function Checkpoints({ connected, checkpoints, client }: CheckpointsProps): JSX.Element {
  const name = useSignal('');
  const busy = useSignal(false);
  const result = useSignal<{ text: string; failed: boolean } | undefined>(undefined);

  const make = async (wanted: string): Promise<void> => {
    busy.value = true;
    result.value = undefined;
    try {
      result.value = { text: confirmation(await client.ask('checkpoint', { name: wanted })), failed: false };
      if (wanted === name.value) name.value = '';
    } catch (error) {
      result.value = { text: t('checkpointNotSet', wanted, words(error)), failed: true };
    } finally {
      busy.value = false;
    }
  };

  const typed = name.value;
  const problem = typed === '' ? '' : nameProblem(typed);
  const disabled = !connected || busy.value;
  const recent = checkpoints.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, RECENT);
  return (
    <section class="checkpoints">
      <h2>{t('checkpoints')}</h2>
      <div class="buttons">
        {CONVENTIONAL.map((conventional) => (
          <button
            key={conventional}
            type="button"
            disabled={disabled}
            onClick={() => void make(conventional)}
          >
            {conventional}
          </button>
        ))}
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!disabled && nameProblem(typed) === '') void make(typed);
        }}
      >
        <input
          type="text"
          aria-label={t('checkpointName')}
          aria-describedby="naming"
          aria-invalid={problem !== ''}
          placeholder={t('checkpointExample')}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={MAX_CHECKPOINT_NAME * 2}
          disabled={!connected}
          value={typed}
          onInput={(event) => {
            name.value = event.currentTarget.value;
            result.value = undefined;
          }}
        />
        <button type="submit" disabled={disabled || typed === '' || problem !== ''}>
          {t('set')}
        </button>
      </form>
      <p id="naming" class={problem === '' ? 'hint' : 'hint problem'}>
        {connected ? problem || t('namingRule') : t('checkpointsLater')}
      </p>
      <p class={result.value?.failed ? 'result problem' : 'result'} role="status">
        {result.value?.text}
      </p>
      {recent.length > 0 && (
        <ol>
          {recent.map(({ name: set, at, note, ...span }) => (
            <li key={set}>
              <span class="name" title={note === undefined ? set : `${set}: ${note}`}>
                {set.split('@', 1)}
                {set.includes('@') && <span class="scope">{set.slice(set.indexOf('@'))}</span>}
              </span>
              <time dateTime={at}>{shortTime(at)}</time>
              <Span span={span} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function confirmation({ name, replaced }: CheckpointResult): string {
  return replaced === undefined
    ? t('checkpointSet', name)
    : t('checkpointReplaced', name, shortTime(replaced));
}
