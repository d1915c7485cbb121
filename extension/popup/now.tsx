import type { JSX } from 'preact';
import { SeverityMark, severityOf, severityWord } from '../../web/ui/severity';
import { shortTime } from '../../web/ui/times';
import type { PopupTab } from '../messages';
import type { Overview } from '../protocol';
import { standing } from '../standing';
import { many, type TextKey, t } from '../text';

interface NowProps {
  overview: Overview | undefined;
  tabs: readonly PopupTab[];
  paused: boolean;
}

/** How all watched tabs stand since the newest checkpoint of them, in a word and a line. */
export function Now({ overview, tabs, paused }: NowProps): JSX.Element {
  if (paused) return <Unseen head="watchingPaused" text="pausedNow" />;
  if (!tabs.some(({ watched }) => watched)) return <Unseen head="nothingWatchedShort" text="switchOneOn" />;
  const severity = severityOf(overview?.severity, overview?.not_observed !== undefined);
  return (
    <section class={`now ${severity}`} aria-live="polite">
      <SeverityMark severity={severity} size={28} />
      <div>
        <strong>{overview === undefined ? t('asking') : severityWord(severity)}</strong>
        {overview !== undefined && (
          <>
            <p>{standing(overview)}</p>
            <p class="detail">{since(overview, tabs.filter(({ watched }) => watched).length)}</p>
          </>
        )}
      </div>
    </section>
  );
}

/** Nothing is observed, so nothing is said of how it stands. */
function Unseen({ head, text }: { head: TextKey; text: TextKey }): JSX.Element {
  return (
    <section class="now unknown" aria-live="polite">
      <SeverityMark severity="unknown" size={28} />
      <div>
        <strong>{t(head)}</strong>
        <p>{t(text)}</p>
      </div>
    </section>
  );
}

/** The host names the checkpoint, or tells the time, that its view begins with. */
function since(overview: Overview, watched: number): string {
  const { since, checkpoints } = overview;
  const elsewhere = isElsewhereToo(overview);
  if (since === undefined) return many(elsewhere ? 'sinceWatchingElsewhere' : 'sinceWatching', watched);
  const checkpoint = checkpoints.find(({ name, at }) => name === since || at === since);
  const time = shortTime(checkpoint?.at ?? since);
  return many(
    elsewhere ? 'sinceElsewhere' : 'since',
    watched,
    [checkpoint?.name ?? '', time].filter(Boolean).join(', ') || since,
  );
}

/** Whether something of what is counted was in none of the tabs that the popup lists. */
function isElsewhereToo({ errors = 0, warnings = 0, tabs = [] }: Overview): boolean {
  const listed = tabs.reduce((sum, tab) => sum + (tab.errors ?? 0) + (tab.warnings ?? 0), 0);
  return listed < errors + warnings;
}
