import type { JSX } from 'preact';
import { Held } from '../../web/ui/held';
import type { PopupTab } from '../messages';
import { t } from '../text';
import type { WorkerClient } from './worker-client';

/** Pages that stand still, each with the way to let it go on. */
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
    <section class="paused" aria-label={t('pausedPages')} aria-live="polite">
      {held.map(
        ({ id, active, title, origin, paused }) =>
          paused !== undefined && (
            <Held
              key={id}
              page={active ? undefined : title || origin}
              paused={paused}
              resume={() => client.resume(id)}
            />
          ),
      )}
    </section>
  );
}
