import type { JSX } from 'preact';
import type { PopupTab } from '../messages';
import type { Overview } from '../protocol';
import { SEVERITY_WORDS, SeverityMark, severityOf } from '../ui/severity';
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
  const severity = watched || overview?.since !== undefined ? severityOf(overview?.severity) : 'unknown';
  const summary = watched
    ? (overview?.summary ?? 'Asking…')
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

function since({ since, checkpoints }: Overview): string {
  if (since === undefined) return 'Since watching began';
  const name = checkpoints.find(({ at }) => at === since)?.name;
  const time = shortTime(since);
  return name === undefined ? `Since ${time === '' ? since : time}` : `Since ${name}, ${time}`;
}
