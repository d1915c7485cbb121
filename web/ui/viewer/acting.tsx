/** Agents that act, or did: where and what, and the way to stop them at once. */
import type { JSX } from 'preact';
import { t } from '../../../extension/text';
import { Acts } from '../acts';
import type { ViewerModel } from './model';

/** Those agents that are here and have acted since they came. */
export function ActingAgents({ model }: { model: ViewerModel }): JSX.Element {
  const agents = model.overview.value?.agents ?? [];
  return (
    <section class="acts" aria-label={t('actingAgents')} aria-live="polite">
      {agents.map(
        ({ id, name, acts }) =>
          acts !== undefined &&
          acts !== null && (
            <Acts
              key={id}
              name={name}
              where={
                acts.tab !== 0 && acts.tab === model.tab.value
                  ? t('onThisPage')
                  : (acts.title ?? t('onAClosedTab'))
              }
              what={acts.what}
              now={acts.now === true}
              since={acts.since}
              stopped={acts.stopped === true}
              set={async (stopped) => {
                await model.client.ask('view_stop', { id, stopped });
              }}
            />
          ),
      )}
    </section>
  );
}
