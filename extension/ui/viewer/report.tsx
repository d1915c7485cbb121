/** What changed between two moments. */
import type { ComponentChildren, JSX } from 'preact';
import type { ViewHidden, ViewRef, ViewReport } from '../../protocol';
import type { GapSpan, Report } from '../../report';
import { spanWords } from '../../standing';
import { type CountedKey, many, t } from '../../text';
import { SeverityMark, severityOf } from '../severity';
import { Line, Sparkline, Status } from './entry';
import { duration, hour } from './format';
import type { ViewerModel } from './model';
import { actionWords, gapWords } from './words';

/** A report: one line of how it stands, then everything that is in it. */
export function ReportView({ model, report }: { model: ViewerModel; report: ViewReport }): JSX.Element {
  const r = report.report;
  const partly = r.coverage !== undefined;
  const severity = severityOf(r.severity, partly);
  return (
    <div class="report">
      <header class={`verdict ${severity}`} aria-live="polite">
        <SeverityMark severity={severity} size={22} />
        <div>
          <strong>
            {spanWords({ errors: report.errors ?? 0, warnings: report.warnings ?? 0 })}
            {partly && `, ${t('partly')}`}
          </strong>
          <p>
            {t('fromTo', model.nameOf(report.from), model.nameOf(report.to))}
            <span class="quiet">
              {' · '}
              <Lasted model={model} report={report} />
            </span>
          </p>
        </div>
      </header>
      <Coverage report={r} />
      <Sections model={model} report={report} />
      <Hidden model={model} count={r.noise_hidden ?? 0} />
      {(r.severity_hidden ?? 0) > 0 && <p class="said">{many('severityHidden', r.severity_hidden ?? 0)}</p>}
    </div>
  );
}

/** How long it was: what is compared with now goes on, be there anything new or not. */
function Lasted({ model, report }: { model: ViewerModel; report: ViewReport }): JSX.Element {
  const { from, to, report: r } = report;
  void model.drawn.value;
  const begin = model.timeOf(from);
  const ms =
    to === 'now' && begin !== undefined ? Math.max(r.duration_ms, model.data.now - begin) : r.duration_ms;
  return <>{duration(ms)}</>;
}

/** What was not observed, said where a person looks first. */
function Coverage({ report }: { report: Report }): JSX.Element | null {
  const { coverage, buffer_overflow: overflow, dom_unavailable: noDOM, noise_problems: problems } = report;
  if (coverage === undefined && !overflow && !noDOM && problems === undefined) return null;
  return (
    <aside class="coverage">
      <h3>{t('notObserved')}</h3>
      <ul>
        {coverage?.gaps?.map((gap: GapSpan, i: number) => (
          <li key={i}>
            <span class="quiet">
              {hour(Date.parse(gap.from))}–{gap.to == null ? t('now') : hour(Date.parse(gap.to))}
            </span>{' '}
            {gapWords(gap.reason)}
          </li>
        ))}
        {(coverage?.dropped ?? 0) > 0 && <li>{many('dropped', coverage?.dropped ?? 0)}</li>}
        {coverage !== undefined && (coverage.gaps?.length ?? 0) === 0 && <li>{coverage.note}</li>}
        {overflow === true && <li>{t('overflow')}</li>}
        {noDOM === true && <li>{t('noDOM')}</li>}
        {problems?.map((problem: string) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </aside>
  );
}

interface GroupProps {
  title: CountedKey;
  count: number;
  /** How much of its section, less severe than what is here, is not listed. */
  omitted?: number | undefined;
  children: ComponentChildren;
}

function Group({ title, count, omitted = 0, children }: GroupProps): JSX.Element | null {
  if (count === 0) return null;
  return (
    <section class="group">
      <h3>
        {many(title, count)}
        {omitted > 0 && <span class="quiet"> · {many('moreOfSection', omitted)}</span>}
      </h3>
      <ul class="lines">{children}</ul>
    </section>
  );
}

function Sections({ model, report }: { model: ViewerModel; report: ViewReport }): JSX.Element {
  const { report: r, refs } = report;
  const { console: log, network, websocket, dom, actions } = r;
  const ref = (list: string, i: number): ViewRef | undefined => refs[list]?.[i];
  const search = model.text.value.toLowerCase();
  const without = model.without.value;
  const has = (...texts: (string | number | undefined)[]): boolean =>
    search === '' ||
    texts.some((text) =>
      String(text ?? '')
        .toLowerCase()
        .includes(search),
    );
  /** The entries of a list that are looked for, each with its place in the list. */
  const of = <T,>(
    list: readonly T[] | undefined,
    text: (one: T) => (string | number | undefined)[],
  ): [T, number][] =>
    (list ?? []).map((one, i): [T, number] => [one, i]).filter(([one]) => has(...text(one)));
  const lines = {
    errors: without.has('console') ? [] : of(log?.new_errors, (m) => [m.message, m.source]),
    failures: without.has('network')
      ? []
      : of(network?.failures, (f) => [f.method, f.url, f.status, f.error]),
    crashed: without.has('dom') ? [] : of(dom?.crashed, (c) => [c.url]),
    warnings: without.has('console') ? [] : of(log?.new_warnings, (m) => [m.message, m.source]),
    degraded: without.has('network') ? [] : of(network?.degraded, (d) => [d.method, d.url]),
    closed: without.has('websocket') ? [] : of(websocket?.disconnections, (d) => [d.url, d.reason, d.code]),
    socketErrors: without.has('websocket') ? [] : of(websocket?.error_messages, (e) => [e.url, e.message]),
    elements: without.has('dom') ? [] : of(dom?.new_error_elements, (e) => [e.selector, e.text]),
    recovered: without.has('network') ? [] : of(network?.recovered, (c) => [c.method, c.url]),
    vanished: without.has('dom') ? [] : of(dom?.disappeared_elements, (e) => [e.selector, e.text]),
    endpoints: without.has('network') ? [] : of(network?.new_endpoints, (e) => [e.method, e.url]),
    opened: without.has('websocket') ? [] : of(websocket?.new_connections, (c) => [c.url]),
    moved:
      without.has('dom') || dom?.url_changed == null || !has(dom.url_changed.from, dom.url_changed.to)
        ? []
        : [dom.url_changed],
    actions: without.has('actions') ? [] : of(actions?.new_actions, (a) => [a.type, a.target, a.value]),
  };
  const shown = Object.values(lines).reduce((sum, list) => sum + list.length, 0);
  /** Where it is said that there is more of a section: at the first of its lists. */
  const omitted: Partial<Record<keyof typeof lines, number>> = {};
  const told = (count: number | undefined, ...lists: (keyof typeof lines)[]): void => {
    const first = lists.find((list) => lines[list].length > 0);
    if (first !== undefined && count !== undefined) omitted[first] = count;
  };
  told(log?.omitted, 'errors', 'warnings');
  told(network?.omitted, 'failures', 'degraded', 'recovered', 'endpoints');
  told(websocket?.omitted, 'closed', 'socketErrors', 'opened');
  told(dom?.omitted, 'crashed', 'elements', 'vanished');
  told(actions?.omitted, 'actions');
  const filtered = search !== '' || without.size > 0;
  return (
    <>
      {shown === 0 && (
        <p class="empty">
          {filtered ? t('nothingMatches') : r.coverage === undefined ? t('nothingNew') : t('nothingSeen')}
        </p>
      )}
      <Group title="groupErrors" count={lines.errors.length} omitted={omitted.errors}>
        {lines.errors.map(([m, i]) => (
          <Line
            key={i}
            model={model}
            severity="error"
            entry={ref('console.new_errors', i)}
            count={m.count}
            tab={m.tab}
          >
            {m.message || t('noText')}
          </Line>
        ))}
      </Group>
      <Group title="groupFailures" count={lines.failures.length} omitted={omitted.failures}>
        {lines.failures.map(([f, i]) => (
          <Line
            key={i}
            model={model}
            severity="error"
            entry={ref('network.failures', i)}
            count={f.count}
            tab={f.tab}
            aside={
              <Change
                before={f.previous_status}
                status={f.status}
                error={f.error}
                now={f.now_status}
                entry={ref('network.failures', i)}
              />
            }
          >
            <code>{f.method}</code> <span class="url">{f.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupCrashed" count={lines.crashed.length} omitted={omitted.crashed}>
        {lines.crashed.map(([c, i]) => (
          <Line
            key={i}
            model={model}
            severity="error"
            entry={ref('dom.crashed', i)}
            tab={c.tab}
            aside={<time>{hour(Date.parse(c.at))}</time>}
          >
            {c.url}
          </Line>
        ))}
      </Group>
      <Group title="groupWarnings" count={lines.warnings.length} omitted={omitted.warnings}>
        {lines.warnings.map(([m, i]) => (
          <Line
            key={i}
            model={model}
            severity="warning"
            entry={ref('console.new_warnings', i)}
            count={m.count}
            tab={m.tab}
          >
            {m.message || t('noText')}
          </Line>
        ))}
      </Group>
      <Group title="groupDegraded" count={lines.degraded.length} omitted={omitted.degraded}>
        {lines.degraded.map(([d, i]) => (
          <Line
            key={i}
            model={model}
            severity="warning"
            entry={ref('network.degraded', i)}
            tab={d.tab}
            aside={
              <span class="change">
                <Sparkline entry={ref('network.degraded', i)} />
                {duration(d.previous_avg_ms)} <Arrow /> <b>{duration(d.avg_ms)}</b>
              </span>
            }
          >
            <code>{d.method}</code> <span class="url">{d.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupClosed" count={lines.closed.length} omitted={omitted.closed}>
        {lines.closed.map(([d, i]) => (
          <Line
            key={i}
            model={model}
            severity="warning"
            entry={ref('websocket.disconnections', i)}
            count={d.count}
            tab={d.tab}
            aside={<span class="quiet">{[d.code, d.reason].filter(Boolean).join(' ')}</span>}
          >
            <span class="url">{d.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupSocketErrors" count={lines.socketErrors.length} omitted={omitted.socketErrors}>
        {lines.socketErrors.map(([e, i]) => (
          <Line
            key={i}
            model={model}
            severity="warning"
            entry={ref('websocket.error_messages', i)}
            count={e.count}
            tab={e.tab}
          >
            <span class="url">{e.url}</span> {e.message}
          </Line>
        ))}
      </Group>
      <Group title="groupElements" count={lines.elements.length} omitted={omitted.elements}>
        {lines.elements.map(([e, i]) => (
          <Line
            key={i}
            model={model}
            severity="warning"
            entry={ref('dom.new_error_elements', i)}
            tab={e.tab}
            aside={
              e.gone_at == null ? (
                <Reveal model={model} entry={ref('dom.new_error_elements', i)} />
              ) : (
                <span class="quiet">{t('goneAt', hour(Date.parse(e.gone_at)))}</span>
              )
            }
          >
            {e.text || t('noText')} <code class="selector">{e.selector}</code>
          </Line>
        ))}
      </Group>
      <Group title="groupRecovered" count={lines.recovered.length} omitted={omitted.recovered}>
        {lines.recovered.map(([c, i]) => (
          <Line
            key={i}
            model={model}
            severity="clean"
            entry={ref('network.recovered', i)}
            tab={c.tab}
            aside={
              <Change before={c.previous_status} status={c.status} entry={ref('network.recovered', i)} />
            }
          >
            <code>{c.method}</code> <span class="url">{c.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupVanished" count={lines.vanished.length} omitted={omitted.vanished}>
        {lines.vanished.map(([e, i]) => (
          <Line key={i} model={model} severity="clean" entry={ref('dom.disappeared_elements', i)} tab={e.tab}>
            {e.text || t('noText')} <code class="selector">{e.selector}</code>
          </Line>
        ))}
      </Group>
      <Group title="groupEndpoints" count={lines.endpoints.length} omitted={omitted.endpoints}>
        {lines.endpoints.map(([e, i]) => (
          <Line
            key={i}
            model={model}
            entry={ref('network.new_endpoints', i)}
            tab={e.tab}
            aside={<Status status={e.status} />}
          >
            <code>{e.method}</code> <span class="url">{e.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupOpened" count={lines.opened.length} omitted={omitted.opened}>
        {lines.opened.map(([c, i]) => (
          <Line key={i} model={model} entry={ref('websocket.new_connections', i)} count={c.count} tab={c.tab}>
            <span class="url">{c.url}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupMoved" count={lines.moved.length}>
        {lines.moved.map((m) => (
          <Line key="moved" model={model} entry={ref('dom.url_changed', 0)} tab={m.tab} opens={false}>
            <span class="url">{m.from}</span> <Arrow /> <span class="url">{m.to}</span>
          </Line>
        ))}
      </Group>
      <Group title="groupActions" count={lines.actions.length} omitted={omitted.actions}>
        {lines.actions.map(([a, i]) => (
          <Line
            key={i}
            model={model}
            entry={ref('actions.new_actions', i)}
            tab={a.tab}
            aside={<time class="quiet">{hour(Date.parse(a.at))}</time>}
          >
            {actionWords(a)}
          </Line>
        ))}
      </Group>
      <Omitted model={model} report={r} />
      <Totals report={r} />
    </>
  );
}

/** What was left out of the lists, and where to see it. */
function Omitted({ model, report }: { model: ViewerModel; report: Report }): JSX.Element | null {
  const { console: log, network, websocket, dom, actions } = report;
  const omitted = [log, network, websocket, dom, actions].reduce(
    (sum, section) => sum + (section?.omitted ?? 0),
    0,
  );
  if (omitted === 0) return null;
  return (
    <p class="said">
      {many('omitted', omitted)}{' '}
      <button
        type="button"
        class="link"
        onClick={() => {
          model.section.value = 'events';
        }}
      >
        {t('seeAllEvents')}
      </button>
    </p>
  );
}

/** What else there was, in numbers. */
function Totals({ report }: { report: Report }): JSX.Element | null {
  const { console: log, network, websocket, actions } = report;
  const parts: string[] = [];
  const add = (key: CountedKey, n: number | undefined): void => {
    if ((n ?? 0) > 0) parts.push(many(key, n ?? 0));
  };
  add('totalEntries', log?.total_new_entries);
  add('totalRequests', network?.total_new_requests);
  add('totalMessages', websocket?.total_new_messages);
  add('totalActions', actions?.total_new_actions);
  add('stillFailing', network?.still_failing);
  if (parts.length === 0) return null;
  return <p class="totals quiet">{t('seenInAll', parts.join(' · '))}</p>;
}

function Hidden({ model, count }: { model: ViewerModel; count: number }): JSX.Element | null {
  const hidden: ViewHidden | undefined = model.hidden.value;
  if (count === 0 && (hidden?.entries.length ?? 0) === 0) return null;
  if (hidden === undefined) {
    return (
      <p class="said">
        {many('noiseHidden', count)}{' '}
        <button type="button" class="link" onClick={() => void model.explainHidden()}>
          {t('whyHidden')}
        </button>
      </p>
    );
  }
  return (
    <section class="group hidden-entries">
      <h3>{many('noiseHidden', count)}</h3>
      <ul class="lines">
        {hidden.entries.map((h) => {
          const rule = h.rule;
          return (
            <li class="line plain" key={`${h.kind} ${h.origin ?? ''} ${h.fingerprint}`}>
              <div class="line-head">
                <span class="opener">
                  <SeverityMark severity="unknown" size={14} />
                  <span class="line-text">
                    {h.text}
                    <small>{h.because}</small>
                  </span>
                </span>
                <span class="line-meta">
                  {h.count > 1 && <span class="count">×{h.count}</span>}
                  {rule !== undefined && (
                    <button type="button" class="link" onClick={() => void model.unignore(rule)}>
                      {t('showAgain')}
                    </button>
                  )}
                </span>
              </div>
            </li>
          );
        })}
      </ul>
      <button
        type="button"
        class="link"
        onClick={() => {
          model.hidden.value = undefined;
        }}
      >
        {t('close')}
      </button>
    </section>
  );
}

function Reveal({ model, entry }: { model: ViewerModel; entry: ViewRef | undefined }): JSX.Element | null {
  const reveal = model.client.reveal?.bind(model.client);
  const tab = model.overview.value?.tabs.find(({ id }) => id === entry?.tab);
  const [selector, browserID] = [entry?.selector, tab?.browser_id];
  if (reveal === undefined || selector === undefined || browserID === undefined || tab?.own !== true)
    return null;
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        reveal(browserID, selector).catch((error: Error) => {
          model.notice.value = { text: error.message, failed: true };
        });
      }}
    >
      {t('reveal')}
    </button>
  );
}

interface ChangeProps {
  before: number | undefined;
  status: number;
  error?: string | undefined;
  now?: number | undefined;
  entry: ViewRef | undefined;
}

function Change({ before, status, error, now, entry }: ChangeProps): JSX.Element {
  return (
    <span class="change">
      <Sparkline entry={entry} />
      {before !== undefined && before > 0 && (
        <>
          <Status status={before} /> <Arrow />{' '}
        </>
      )}
      <Status status={status} error={error} />
      {now !== undefined && (
        <>
          {' '}
          <Arrow /> <Status status={now} />
        </>
      )}
    </span>
  );
}

/** From one to the other; heard as a word. */
export function Arrow(): JSX.Element {
  return (
    <span class="arrow">
      <span aria-hidden="true">→</span>
      <span class="heard">{t('then')}</span>
    </span>
  );
}
