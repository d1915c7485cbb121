import type { JSX } from 'preact';
import { t } from '../../extension/text';
import { useAttempt } from './attempt';
import { shortTime } from './times';
import './pulse.css';
import './acts.css';

interface ActsProps {
  /** What the agent is called. */
  name: string;
  /** What it acts on, or did: a tab's title. */
  where: string;
  what: string | undefined;
  /** An action is under way. */
  now: boolean;
  /** When its last action began, RFC 3339. */
  since: string;
  /** A person has stopped it. */
  stopped: boolean;
  disabled?: boolean;
  /** Stops it, or allows it again. */
  set(stopped: boolean): Promise<void>;
}

/** An agent that acts, or did: where and what, and the way to stop it at once. */
export function Acts(props: ActsProps): JSX.Element {
  const { name, where, what, now, since, stopped, disabled = false, set } = props;
  const { busy, problem, run } = useAttempt();
  const line = now ? t('actsOn', where) : t('actedOn', where, shortTime(since));
  return (
    <div class={stopped ? 'acts-line stopped' : now ? 'acts-line acting' : 'acts-line'}>
      <span class="pulse" aria-hidden="true" />
      <p title={what === undefined ? `${name} ${line}` : `${name} ${line}: ${what}`}>
        <strong>{name}</strong> {stopped ? t('stoppedByYou', where) : line}
        {!stopped && what !== undefined && <span class="quiet"> · {what}</span>}
        {problem.value !== '' && (
          <>
            {' '}
            <span class="problem" role="alert">
              {problem.value}
            </span>
          </>
        )}
      </p>
      <button
        type="button"
        class={stopped ? undefined : 'stop'}
        title={stopped ? undefined : t('stopTitle', name)}
        aria-label={stopped ? t('allowThatAgain', name) : t('stopThat', name)}
        disabled={disabled || busy.value}
        onClick={() => void run(() => set(!stopped))}
      >
        {stopped ? t('allowAgain') : t('stop')}
      </button>
    </div>
  );
}
