/** Pages that stand still, above all else: what is shown of them does not go on. */
import type { JSX } from 'preact';
import { t } from '../../../extension/text';
import { Held } from '../held';
import type { ViewerModel } from './model';

/** The paused pages among the tabs that are shown. */
export function PausedPages({ model }: { model: ViewerModel }): JSX.Element {
  const shown = model.tab.value;
  const held = (model.overview.value?.tabs ?? []).filter(
    ({ id, paused, paused_part: part }) => (paused ?? part) !== undefined && (shown === 0 || id === shown),
  );
  return (
    <section class="paused" aria-label={t('pausedPages')} aria-live="polite">
      {held.map(({ id, title, url, paused: page, paused_part: part }) => {
        const paused = page ?? part;
        return paused === undefined ? null : (
          <Held
            key={id}
            page={shown === id ? undefined : title || url}
            paused={paused}
            resume={async () => {
              await model.client.ask('view_resume', { tab: id });
            }}
          />
        );
      })}
    </section>
  );
}
