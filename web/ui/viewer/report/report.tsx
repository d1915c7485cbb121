/** What changed between two moments. */
import type { JSX } from 'preact';
import type { ViewHidden, ViewReport } from '../../../../extension/protocol';
import type { GapSpan, Report } from '../../../../extension/report';
import { spanWords } from '../../../../extension/standing';
import { type CountedKey, many, t } from '../../../../extension/text';
import { SeverityMark, severityOf } from '../../severity';
import { duration } from '../format';
import type { ViewerModel } from '../model';
import { gapTabs, gapTime, gapWords } from '../words';
import { listsOf, omittedOf } from './lists';

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
            {spanWords({
              errors: report.errors ?? 0,
              warnings: report.warnings ?? 0,
              not_observed: partly,
            })}
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
      <Lists model={model} report={report} />
      <Omitted model={model} report={r} />
      <Totals report={r} />
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
            <span class="quiet">{gapTime(gap)}</span> {gapWords(gap.reason)}
            {gapTabs(gap) !== '' && <span class="quiet"> · {gapTabs(gap)}</span>}
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

/** The lists, as far as a person looks for them and did not put their lanes aside. */
function Lists({ model, report }: { model: ViewerModel; report: ViewReport }): JSX.Element {
  const search = model.text.value.toLowerCase();
  const without = model.without.value;
  const omitted = omittedOf(report.report);
  const has = (texts: (string | number | undefined)[]): boolean =>
    search === '' || texts.some((text) => `${text ?? ''}`.toLowerCase().includes(search));
  const groups = listsOf(report.report)
    .filter(({ lane }) => !without.has(lane))
    .map(({ name, lane, heading, lines }) => ({ name, lane, heading, lines: lines(model, report, has) }))
    .filter(({ lines }) => lines.length > 0);
  if (groups.length === 0) {
    const filtered = search !== '' || without.size > 0;
    return (
      <p class="empty">
        {t(filtered ? 'nothingMatches' : report.report.coverage === undefined ? 'nothingNew' : 'nothingSeen')}
      </p>
    );
  }
  return (
    <>
      {groups.map(({ name, lane, heading, lines }) => {
        // How much of a lane is not listed is said at the first of its lists: it is less severe than what is.
        const more = omitted.get(lane) ?? 0;
        omitted.delete(lane);
        return (
          <section class="group" key={name}>
            <h3>
              {heading(lines.length)}
              {more > 0 && <span class="quiet"> · {many('moreOfSection', more)}</span>}
            </h3>
            <ul class="lines">{lines}</ul>
          </section>
        );
      })}
    </>
  );
}

/** What was left out of the lists, and where to see it. */
function Omitted({ model, report }: { model: ViewerModel; report: Report }): JSX.Element | null {
  const omitted = [...omittedOf(report).values()].reduce((sum, n) => sum + n, 0);
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
