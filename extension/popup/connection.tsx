import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Prose } from '../../web/ui/prose';
import type { ConnectionState as State } from '../messages';
import { many, type TextKey, t } from '../text';
import type { WorkerClient } from './worker-client';

const WORDS = {
  connected: 'connected',
  connecting: 'connecting',
  waiting: 'notConnected',
  refused: 'notConnected',
} as const satisfies Record<State['state'], TextKey>;

/** The connection's state in a word, with a mark whose form says the same. */
export function ConnectionState({ connection }: { connection: State }): JSX.Element {
  const { state, host } = connection;
  return (
    <span class={`connection ${state}`} title={host === undefined ? undefined : `Tidemark ${host}`}>
      <span class="dot" />
      {t(WORDS[state])}
    </span>
  );
}

/** What is wrong with the connection, and what to do about it; nothing while all is well. */
export function ConnectionBanner({
  connection,
  client,
}: {
  connection: State;
  client: WorkerClient;
}): JSX.Element | null {
  const trying = useSignal(false);
  const { state, text, queued, dropped } = connection;
  if (state === 'connected' && dropped === 0) return null;
  if (state === 'connected') {
    return (
      <section class="banner warning">
        <p>{many('eventsLost', dropped)}</p>
      </section>
    );
  }
  const again = async (): Promise<void> => {
    trying.value = true;
    try {
      await client.refresh();
    } catch {
      // the state that the worker pushes says what went wrong
    } finally {
      trying.value = false;
    }
  };
  return (
    <section class={`banner ${state === 'connecting' ? 'quiet' : 'error'}`} aria-live="polite">
      <p>
        <Prose text={text} />
      </p>
      {(queued > 0 || dropped > 0) && (
        <p class="detail">
          {queued > 0 && many('eventsWaiting', queued)} {dropped > 0 && many('eventsLost', dropped)}
        </p>
      )}
      {state !== 'connecting' && (
        <button type="button" disabled={trying.value} onClick={() => void again()}>
          {trying.value ? t('trying') : t('tryNow')}
        </button>
      )}
    </section>
  );
}
