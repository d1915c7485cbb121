import type { JSX } from 'preact';
import type { PopupTab } from '../messages';
import type { Overview } from '../protocol';
import { SEVERITY_WORDS, SeverityMark, severityOf } from '../ui/severity';
import { standing } from '../ui/standing';
import { shortTime } from '../ui/times';

/** How things stand since the newest checkpoint, in a word and a line. */
export function Now({
  overview,
  tabs,
}: {
  overview: Overview | undefined;
  tabs: readonly PopupTab[];
}): JSX.Element {
  const watched = tabs.some((tab) => tab.watched);
  const severity = severityOf(overview?.severity, !watched || overview?.not_observed !== undefined);
  const summary = watched
    ? overview === undefined
      ? 'Asking…'
      : standing(overview)
    : 'No tab is watched. Switch one on to know how it does.';
  return (
    <section class={`now ${severity}`} aria-live="polite">
      <SeverityMark severity={severity} size={28} />
      <div>
        <strong>{watched ? SEVERITY_WORDS[severity] : 'Nothing watched'}</strong>
        <p>{summary}</p>
        {watched && overview !== undefined && <p class="detail">{since(overview)}</p>}
      </div>
    </section>
  );
}

/** The host names the checkpoint, or tells the time, that its view begins with. */
function since({ since, checkpoints }: Overview): string {
  if (since === undefined) return 'Since watching began';
  const checkpoint = checkpoints.find(({ name, at }) => name === since || at === since);
  const time = shortTime(checkpoint?.at ?? since);
  return `Since ${[checkpoint?.name ?? '', time].filter(Boolean).join(', ') || since}`;
}
