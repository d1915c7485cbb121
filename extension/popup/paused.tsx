import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { PopupTab } from '../messages';
import { shortTime } from '../ui/times';
import type { WorkerClient } from './worker-client';

/** Pages that stand still: who holds them, where, and the way to let them go on. */
export function Paused({
  tabs,
  client,
}: {
  tabs: readonly PopupTab[];
  client: WorkerClient;
}): JSX.Element | null {
  const held = tabs.filter(({ paused }) => paused !== undefined);
  if (held.length === 0) return null;
  return (
    <section class="paused" aria-label="Paused pages" aria-live="polite">
      {held.map((tab) => (
        <PausedTab key={tab.id} tab={tab} client={client} />
      ))}
    </section>
  );
}

function PausedTab({ tab, client }: { tab: PopupTab; client: WorkerClient }): JSX.Element {
  const busy = useSignal(false);
  const problem = useSignal('');
  const { by, reason = '', place, at = 0 } = tab.paused ?? {};
  const resume = async (): Promise<void> => {
    busy.value = true;
    problem.value = '';
    try {
      await client.resume(tab.id);
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      busy.value = false;
    }
  };
  const title = tab.active ? 'This page' : tab.title || tab.origin;
  return (
    <div class="held">
      <span class="bars" aria-hidden="true" />
      <div>
        <strong>
          {title} is paused{by !== undefined && ` by ${by}`}
        </strong>
        <p class="detail">
          {reasons[reason] ?? 'In the debugger'} since {shortTime(new Date(at).toISOString())}
        </p>
        {place !== undefined && <code title={place}>{place}</code>}
        {problem.value !== '' && (
          <p class="problem" role="alert">
            {problem.value}
          </p>
        )}
      </div>
      <button
        type="button"
        disabled={busy.value}
        aria-label={`Resume ${title}`}
        onClick={() => void resume()}
      >
        Resume
      </button>
    </div>
  );
}

const reasons: Readonly<Record<string, string>> = {
  breakpoint: 'At a breakpoint',
  step: 'After a step',
  pause: 'On request',
  exception: 'At an exception',
  promise_rejection: 'At a rejected promise',
  other: 'At a debugger statement, or by DevTools,',
};
