/** What the agents asked, and what they were told. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ViewAgent, ViewCall, ViewCalls } from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { words } from '../attempt';
import { SeverityMark } from '../severity';
import { Switch } from '../switch';

import { clock, duration, moment, size } from './format';
import type { ViewerModel } from './model';
import { pretty } from './request';
import { Rows } from './rows';

/** Agents with their switch and totals, and each call. */
export function Calls({ model }: { model: ViewerModel }): JSX.Element {
  const agent = useSignal(0);
  const answer = useSignal<ViewCalls | undefined>(undefined);
  const problem = useSignal('');
  const agents = model.overview.value?.agents ?? [];
  const newest = model.data.lane('calls');
  void model.drawn.value;
  const last = newest.positions[newest.length - 1] ?? 0;
  useEffect(() => {
    let stale = false;
    model.client.ask('view_calls', agent.value === 0 ? {} : { agent: agent.value }).then(
      (calls) => {
        if (stale) return;
        answer.value = calls;
        problem.value = '';
      },
      (error: unknown) => {
        if (!stale) problem.value = words(error);
      },
    );
    return () => {
      stale = true;
    };
  }, [agent.value, last]);
  const search = model.text.value.toLowerCase();
  const calls = (answer.value?.calls ?? []).filter(
    (c) => search === '' || `${c.tool} ${c.agent_name} ${c.gist ?? ''}`.toLowerCase().includes(search),
  );
  return (
    <div class="calls">
      <h2>{t('whatAgentSaw')}</h2>
      {agents.length === 0 ? (
        <p class="empty">{t('noAgents')}</p>
      ) : (
        <ul class="agents">
          {agents.map((one) => (
            <Agent key={one.id} model={model} agent={one} />
          ))}
        </ul>
      )}
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {agents.length > 1 && (
        <label class="agent-filter">
          {t('callsOf')}{' '}
          <select
            value={agent.value}
            onChange={(event) => {
              agent.value = Number(event.currentTarget.value);
            }}
          >
            <option value={0}>{t('allAgents')}</option>
            {agents.map(({ id, name }) => (
              <option key={id} value={id}>
                {name} #{id}
              </option>
            ))}
          </select>
        </label>
      )}
      {agents.length > 0 && answer.value !== undefined && calls.length === 0 && (
        <p class="empty">{search === '' ? t('noCalls') : t('nothingMatches')}</p>
      )}
      {calls.length > 0 && (
        <Rows
          count={calls.length}
          height={44}
          label={t('calls')}
          keyOf={(i) => String(calls[i]?.position ?? i)}
          row={(i) => {
            const call = calls[i];
            return call === undefined ? null : <Call model={model} call={call} />;
          }}
        />
      )}
      {answer.value !== undefined && <p class="quiet">{t('callsSince', moment(answer.value.since))}</p>}
      {(answer.value?.forgotten ?? 0) > 0 && (
        <p class="quiet">{many('callsForgotten', answer.value?.forgotten ?? 0)}</p>
      )}
    </div>
  );
}

function Agent({ model, agent }: { model: ViewerModel; agent: ViewAgent }): JSX.Element {
  const { calls = 0, tokens = 0, raw_read: raw = 0, held = false } = agent;
  const times = tokens > 0 ? raw / tokens : 0;
  return (
    <li class={held ? 'agent held' : 'agent'}>
      <div class="agent-name">
        <strong>{agent.name}</strong>
        <span class="quiet">
          {agent.here === true ? t('hereSince', moment(Date.parse(agent.since))) : t('hasLeft')}
          {' · '}
          {agent.scope?.join(', ') ?? t('everything')}
        </span>
      </div>
      <dl class="agent-totals">
        <div>
          <dt>{t('calls')}</dt>
          <dd>{calls.toLocaleString()}</dd>
        </div>
        <div>
          <dt>{t('tokensTold')}</dt>
          <dd>{tokens.toLocaleString()}</dd>
        </div>
        {raw > 0 && (
          <div title={t('savedTitle', raw.toLocaleString())}>
            <dt>{t('saved')}</dt>
            <dd>
              {raw > tokens ? (raw - tokens).toLocaleString() : '0'}
              {times >= 2 && <span class="quiet"> ({t('times', times.toFixed(times < 10 ? 1 : 0))})</span>}
            </dd>
          </div>
        )}
      </dl>
      <span class="access">
        <span class={held ? 'problem' : 'quiet'}>{held ? t('accessHeld') : t('accessAllowed')}</span>
        <Switch
          on={!held}
          label={t('accessOf', agent.name)}
          onToggle={(on) => void model.hold(agent.id, !on)}
        />
      </span>
    </li>
  );
}

function Call({ model, call }: { model: ViewerModel; call: ViewCall }): JSX.Element {
  const open = useSignal(false);
  const whole = useSignal<ViewCall | undefined>(undefined);
  const toggle = (): void => {
    open.value = !open.value;
    if (!open.value || whole.value !== undefined) return;
    model.client.ask('view_calls', { positions: [call.position] }).then(
      ({ calls }) => {
        whole.value = calls[0];
      },
      (error: unknown) => {
        model.notice.value = { text: words(error), failed: true };
      },
    );
  };
  return (
    <article class={call.failed === true ? 'call failed' : 'call'}>
      <button type="button" class="call-head" aria-expanded={open.value} onClick={toggle}>
        <time>{clock(call.at)}</time>
        {call.failed === true ? (
          <SeverityMark severity="warning" size={13} />
        ) : (
          <span class="dot" aria-hidden="true" />
        )}
        <span class="call-what">
          <code>{call.tool}</code> <span class="quiet">{call.agent_name}</span>
          {call.gist !== undefined && <span class="gist">{call.gist}</span>}
        </span>
        <span class="call-cost quiet">
          {many('tokens', call.tokens)} · {duration(call.ms)}
        </span>
      </button>
      {open.value && (
        <div class="call-whole">
          {whole.value === undefined ? (
            <p class="quiet">{t('loading')}</p>
          ) : (
            <>
              <h4>{t('arguments')}</h4>
              <pre class="body">{pretty(whole.value.arguments || '{}')}</pre>
              <h4>
                {t('answerAsSent')} <span class="quiet">{size((whole.value.answer ?? '').length)}</span>
              </h4>
              <pre class="body answer">{whole.value.answer}</pre>
              {whole.value.cut === true && <p class="quiet">{t('answerCut')}</p>}
              {(call.raw_read ?? 0) > 0 && (
                <p class="quiet">{t('rawRead', (call.raw_read ?? 0).toLocaleString())}</p>
              )}
            </>
          )}
        </div>
      )}
    </article>
  );
}
