import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useAttempt } from '../../web/ui/attempt';
import { ignoreParams } from '../../web/ui/finding';
import { SeverityMark, severityOf } from '../../web/ui/severity';
import type { Finding, Overview } from '../protocol';
import { t } from '../text';
import type { WorkerClient } from './worker-client';

interface FindingsProps {
  connected: boolean;
  overview: Overview | undefined;
  client: WorkerClient;
}

/** What was ignored last, for as long as it can be taken back. */
interface Ignored {
  text: string;
  rule: string;
  unsaved?: string;
}

/** What is wrong, entry by entry; most can be ignored from now on, and the last one taken back. */
export function Findings({ connected, overview, client }: FindingsProps): JSX.Element | null {
  const ignored = useSignal<Ignored | undefined>(undefined);
  const { busy, problem, run } = useAttempt();
  const ignore = (finding: Finding): Promise<void> =>
    run(
      async () => {
        const { id, unsaved } = await client.ask('ignore', ignoreParams(finding));
        ignored.value = { text: finding.text, rule: id, ...(unsaved !== undefined && { unsaved }) };
      },
      (why) => t('notIgnored', why),
    );
  const undo = (rule: string): Promise<void> =>
    run(
      async () => {
        await client.ask('unignore', { id: rule });
        ignored.value = undefined;
      },
      (why) => t('stillIgnored', why),
    );

  const findings = overview?.findings ?? [];
  const more = overview?.more_findings ?? 0;
  const hidden = overview?.hidden ?? 0;
  const last = ignored.value;
  const disabled = !connected || busy.value;
  if (findings.length + more + hidden === 0 && last === undefined && problem.value === '') return null;
  return (
    <section class="findings">
      <h2>
        {t('found')}
        {hidden > 0 && <span class="detail">{t('hiddenAsNoise', hidden.toLocaleString())}</span>}
      </h2>
      <ul>
        {findings.map((finding) => (
          <li
            key={`${finding.kind} ${finding.level} ${finding.origin} ${finding.fingerprint || finding.text}`}
          >
            <SeverityMark severity={severityOf(finding.level)} size={14} />
            <span class="text" title={finding.text}>
              {finding.text}
            </span>
            {finding.count > 1 && <span class="detail">×{finding.count.toLocaleString()}</span>}
            {finding.fingerprint !== '' && (
              <button
                type="button"
                class="link"
                title={t('ignore')}
                aria-label={t('ignoreThat', finding.text)}
                disabled={disabled}
                onClick={() => void ignore(finding)}
              >
                {t('ignoreShort')}
              </button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="detail">{t('more', more.toLocaleString())}</p>}
      <p class="undo" role="status">
        {last !== undefined && (
          <>
            <span class="text" title={last.text}>
              {t('ignoredThat', last.text)}
            </span>
            <button type="button" class="link" disabled={disabled} onClick={() => void undo(last.rule)}>
              {t('undo')}
            </button>
          </>
        )}
      </p>
      {last?.unsaved !== undefined && <p class="hint problem">{t('ignoredUntil', last.unsaved)}</p>}
      {problem.value !== '' && (
        <p class="result problem" role="alert">
          {problem.value}
        </p>
      )}
    </section>
  );
}
