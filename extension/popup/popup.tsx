import type { JSX } from 'preact';
import { AddMoment } from '../../web/ui/add-moment';
import { t } from '../text';
import { Agents } from './agents';
import { Checkpoints } from './checkpoints';
import { ConnectionBanner, ConnectionState } from './connection';
import { Findings } from './findings';
import { Now } from './now';
import { Paused } from './paused';
import { Tabs } from './tabs';
import { Viewing } from './viewing';
import type { WorkerClient } from './worker-client';

/** The whole popup: how things stand, what is watched, and a mark to come back to. */
export function Popup({ client }: { client: WorkerClient }): JSX.Element {
  const state = client.state.value;
  if (state === undefined) {
    return (
      <main class="popup" aria-busy="true">
        <header>
          <Brand />
        </header>
        <p class="quiet">{t('starting')}</p>
      </main>
    );
  }
  const { connection, tabs, overview } = state;
  const tab = tabs.find(({ active }) => active)?.id;
  return (
    <main class="popup">
      <header>
        <Brand />
        <ConnectionState connection={connection} />
      </header>
      <ConnectionBanner connection={connection} client={client} />
      <Paused tabs={tabs} client={client} />
      {connection.state === 'connected' && (
        <Now overview={overview} tabs={tabs} paused={state.paused === true} />
      )}
      <Agents
        connected={connection.state === 'connected'}
        agents={overview?.agents ?? []}
        tab={tab}
        client={client}
      />
      <Findings connected={connection.state === 'connected'} overview={overview} client={client} />
      <Viewing paused={state.paused === true} client={client} />
      <Tabs tabs={tabs} standing={overview?.tabs ?? []} client={client} />
      <Checkpoints
        connected={connection.state === 'connected'}
        checkpoints={overview?.checkpoints ?? []}
        client={client}
      />
      <AddMoment
        connected={connection.state === 'connected'}
        add={(params) => client.ask('moment', params)}
      />
    </main>
  );
}

function Brand(): JSX.Element {
  return (
    <h1>
      <img src="../icons/48.png" width="24" height="24" alt="" />
      Tidemark
    </h1>
  );
}
