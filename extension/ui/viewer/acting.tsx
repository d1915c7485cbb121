/** Agents that act, or did: where and what, and the way to stop them at once. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ViewActs, ViewAgent } from '../../protocol';
import { t } from '../text';
import { shortTime } from '../times';
import { type ViewerModel, words } from './model';
import '../pulse.css';
import './acting.css';

/** Those agents that are here and have acted since they came. */
export function ActingAgents({ model }: { model: ViewerModel }): JSX.Element {
  const agents = model.overview.value?.agents ?? [];
  return (
    <section class="acts" aria-label={t('actingAgents')} aria-live="polite">
      {agents.map((agent) => {
        const { id, acts } = agent;
        return acts === undefined ? null : <Acts key={id} model={model} agent={agent} acts={acts} />;
      })}
    </section>
  );
}

function Acts({ model, agent, acts }: { model: ViewerModel; agent: ViewAgent; acts: ViewActs }): JSX.Element {
  const busy = useSignal(false);
  const { tab, title, what, now = false, since, stopped = false } = acts;
  const set = async (stop: boolean): Promise<void> => {
    busy.value = true;
    try {
      await model.client.ask('view_stop', { id: agent.id, stopped: stop });
    } catch (error) {
      model.notice.value = { text: words(error), failed: true };
    } finally {
      busy.value = false;
    }
  };
  const where = tab === model.tab.value ? t('onThisPage') : (title ?? t('onAClosedTab'));
  const line = now ? t('actsOn', where) : t('actedOn', where, shortTime(since));
  return (
    <div class={stopped ? 'acts-line stopped' : now ? 'acts-line acting' : 'acts-line'}>
      <span class="pulse" aria-hidden="true" />
      <p title={`${agent.name} ${line}: ${what}`}>
        <strong>{agent.name}</strong> {stopped ? t('stoppedByYou', where) : line}
        {!stopped && <span class="quiet"> · {what}</span>}
      </p>
      {stopped ? (
        <button type="button" disabled={busy.value} onClick={() => void set(false)}>
          {t('allowAgain')}
        </button>
      ) : (
        <button
          type="button"
          class="stop"
          title={t('stopTitle', agent.name)}
          aria-label={t('stopThat', agent.name)}
          disabled={busy.value}
          onClick={() => void set(true)}
        >
          {t('stop')}
        </button>
      )}
    </div>
  );
}
