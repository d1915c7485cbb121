import type { JSX } from 'preact';
import type { TabPaused } from '../../extension/protocol';
import { type TextKey, t } from '../../extension/text';
import { useAttempt } from './attempt';
import { shortTime } from './times';
import './held.css';

interface HeldProps {
  /** What the page is called; undefined for the one that is looked at. */
  page: string | undefined;
  paused: TabPaused;
  resume(): Promise<void>;
}

/** A page that stands still, or a part of it: who holds it, where, and the way to let it go on. */
export function Held({ page, paused: { by, reason, place, at, kind }, resume }: HeldProps): JSX.Element {
  const title =
    kind === undefined
      ? (page ?? t('thisPage'))
      : t(kind === 'iframe' ? 'frameOf' : 'workerOf', page ?? t('onThisPage'));
  const { busy, problem, run } = useAttempt();
  return (
    <div class="held">
      <span class="bars" aria-hidden="true" />
      <div>
        <strong>{by === undefined ? t('isPaused', title) : t('isPausedBy', title, by)}</strong>
        <p class="detail">
          {t('pausedSince', t(reasons[reason] ?? 'pausedInDebugger'), shortTime(new Date(at).toISOString()))}
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
        class="primary"
        disabled={busy.value}
        aria-label={t('resumeThat', title)}
        onClick={() => void run(resume)}
      >
        {t('resume')}
      </button>
    </div>
  );
}

const reasons: Readonly<Record<string, TextKey>> = {
  breakpoint: 'pausedBreakpoint',
  step: 'pausedStep',
  pause: 'pausedAsked',
  exception: 'pausedException',
  promise_rejection: 'pausedRejection',
  other: 'pausedOther',
};
