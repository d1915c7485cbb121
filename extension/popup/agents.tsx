import type { JSX } from 'preact';
import { Acts } from '../../web/ui/acts';
import type { Agent } from '../protocol';
import { t } from '../text';
import type { WorkerClient } from './worker-client';

interface AgentsProps {
  connected: boolean;
  agents: readonly Agent[];
  /** The tab in front, which is called "this page". */
  tab: number | undefined;
  client: WorkerClient;
}

/** Which agent acts on which tab; each can be stopped at once, and allowed again. */
export function Agents({ connected, agents, tab, client }: AgentsProps): JSX.Element | null {
  if (agents.length === 0) return null;
  return (
    <section class="agents" aria-live="polite">
      <h2>{t('agents')}</h2>
      {agents.map((agent) => (
        <Acts
          key={agent.id}
          name={agent.name}
          where={placeOf(agent, agent.tab === tab)}
          what={agent.what}
          now={agent.acting === true}
          since={agent.since}
          stopped={agent.stopped === true}
          disabled={!connected}
          set={async (stopped) => {
            await client.ask('stop_agent', { id: agent.id, stopped });
          }}
        />
      ))}
    </section>
  );
}

function placeOf({ title, elsewhere }: Agent, here: boolean): string {
  if (title === undefined) return t('onAClosedTab');
  if (here) return t('onThisPage');
  return elsewhere === undefined ? title : `${title} (${elsewhere})`;
}
