import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Agent } from '../protocol';
import { shortTime } from '../ui/times';
import '../ui/pulse.css';
import type { WorkerClient } from './worker-client';

interface AgentsProps {
  connected: boolean;
  agents: readonly Agent[];
  /** The tab in front, which is called "this tab". */
  tab: number | undefined;
  client: WorkerClient;
}

/** Which agent acts on which tab; each can be stopped at once, and allowed again. */
export function Agents({ connected, agents, tab, client }: AgentsProps): JSX.Element | null {
  if (agents.length === 0) return null;
  return (
    <section class="agents">
      <h2>Agents</h2>
      <ul>
        {agents.map((agent) => (
          <AgentLine
            key={agent.id}
            agent={agent}
            here={agent.tab === tab}
            connected={connected}
            client={client}
          />
        ))}
      </ul>
    </section>
  );
}

function AgentLine({
  agent,
  here,
  connected,
  client,
}: {
  agent: Agent;
  here: boolean;
  connected: boolean;
  client: WorkerClient;
}): JSX.Element {
  const busy = useSignal(false);
  const problem = useSignal('');
  const { id, name, stopped } = agent;

  const set = async (stop: boolean): Promise<void> => {
    busy.value = true;
    problem.value = '';
    try {
      await client.stopAgent(id, stop);
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      busy.value = false;
    }
  };

  const where = placeOf(agent, here);
  return (
    <li class={stateOf(agent)}>
      <span class="pulse" aria-hidden="true" />
      <div class="tab">
        <span class="title" title={name}>
          {name}
        </span>
        <span class="origin" title={where} aria-live="polite">
          {stopped ? (
            <strong>Stopped by you</strong>
          ) : (
            `${agent.acting ? 'Acting' : shortTime(agent.since)} on ${where}`
          )}
        </span>
        {stopped ? (
          <span class="origin">Was on {where}</span>
        ) : (
          agent.what !== undefined && (
            <span class="origin" title={agent.what}>
              {agent.what}
            </span>
          )
        )}
        {problem.value !== '' && (
          <span class="note problem" role="alert">
            {problem.value}
          </span>
        )}
      </div>
      {stopped ? (
        <button type="button" disabled={!connected || busy.value} onClick={() => void set(false)}>
          Allow again
        </button>
      ) : (
        <button
          type="button"
          class="stop"
          title={`Ends what ${name} is doing; it may not act until you allow it again`}
          aria-label={`Stop ${name}`}
          disabled={!connected || busy.value}
          onClick={() => void set(true)}
        >
          Stop
        </button>
      )}
    </li>
  );
}

function stateOf({ stopped, acting }: Agent): 'stopped' | 'acting' | 'idle' {
  if (stopped) return 'stopped';
  return acting ? 'acting' : 'idle';
}

function placeOf({ title, elsewhere }: Agent, here: boolean): string {
  if (title === undefined) return 'a tab that is closed';
  if (here) return 'this tab';
  return elsewhere === undefined ? title : `${title} (${elsewhere})`;
}
