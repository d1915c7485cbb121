/** A report as Markdown, to be pasted where people talk. */
import type { ViewCheckpoint, ViewReport } from '../../protocol';
import { spanWords } from '../../standing';
import { many, t } from '../../text';
import { duration, hour } from './format';
import { actionWords, gapWords } from './words';

/** Text of a page that Markdown must not read anything into. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const ticks = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(ticks + 1);
  const room = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return line === '' ? '' : `${fence}${room}${line}${room}${fence}`;
}

const times = (count: number | undefined): string => ((count ?? 1) > 1 ? ` ×${count}` : '');

/** A report as Markdown. */
export function reportMarkdown(
  { report: r, from, to, errors = 0, warnings = 0 }: ViewReport,
  nameOf: (moment: string) => string,
): string {
  const out: string[] = [
    `## ${nameOf(from)} → ${nameOf(to)}: ${spanWords({ errors, warnings })}`,
    '',
    `${r.checkpoint_from} – ${r.checkpoint_to} (${duration(r.duration_ms)})`,
  ];
  const group = (title: string, lines: string[] | undefined): void => {
    if (lines === undefined || lines.length === 0) return;
    out.push('', `### ${title}`, '', ...lines.map((line) => `- ${line}`));
  };
  const status = (code: number | undefined, error?: string): string => String(code || error || t('noAnswer'));
  const gaps = r.coverage?.gaps?.map(
    (gap) =>
      `${hour(Date.parse(gap.from))}–${gap.to == null ? t('now') : hour(Date.parse(gap.to))} ${gapWords(gap.reason)}`,
  );
  if (r.coverage !== undefined) group(t('notObserved'), gaps ?? [r.coverage.note]);
  const { console: log, network, websocket, dom, actions } = r;
  group(
    many('groupErrors', log?.new_errors?.length ?? 0),
    log?.new_errors?.map((m) =>
      `${quoted(m.message) || t('noText')}${times(m.count)} ${m.source ?? ''}`.trim(),
    ),
  );
  group(
    many('groupFailures', network?.failures?.length ?? 0),
    network?.failures?.map(
      (f) =>
        `${quoted(`${f.method} ${f.url}`)} ${f.previous_status ? `${f.previous_status} → ` : ''}${status(f.status, f.error)}${f.now_status ? ` → ${f.now_status}` : ''}${times(f.count)}`,
    ),
  );
  group(
    many('groupCrashed', dom?.crashed?.length ?? 0),
    dom?.crashed?.map((c) => quoted(c.url)),
  );
  group(
    many('groupWarnings', log?.new_warnings?.length ?? 0),
    log?.new_warnings?.map((m) =>
      `${quoted(m.message) || t('noText')}${times(m.count)} ${m.source ?? ''}`.trim(),
    ),
  );
  group(
    many('groupDegraded', network?.degraded?.length ?? 0),
    network?.degraded?.map(
      (d) => `${quoted(`${d.method} ${d.url}`)} ${d.previous_avg_ms} ms → ${d.avg_ms} ms`,
    ),
  );
  group(
    many('groupClosed', websocket?.disconnections?.length ?? 0),
    websocket?.disconnections?.map(
      (d) =>
        `${quoted(d.url)} ${[d.code, d.reason && quoted(d.reason)].filter(Boolean).join(' ')}${times(d.count)}`,
    ),
  );
  group(
    many('groupSocketErrors', websocket?.error_messages?.length ?? 0),
    websocket?.error_messages?.map((e) => `${quoted(e.url)} ${quoted(e.message)}${times(e.count)}`),
  );
  group(
    many('groupElements', dom?.new_error_elements?.length ?? 0),
    dom?.new_error_elements?.map((e) => `${quoted(e.text)} ${quoted(e.selector)}`),
  );
  group(
    many('groupRecovered', network?.recovered?.length ?? 0),
    network?.recovered?.map((c) => `${quoted(`${c.method} ${c.url}`)} ${c.previous_status} → ${c.status}`),
  );
  group(
    many('groupVanished', dom?.disappeared_elements?.length ?? 0),
    dom?.disappeared_elements?.map((e) => `${quoted(e.text)} ${quoted(e.selector)}`),
  );
  group(
    many('groupEndpoints', network?.new_endpoints?.length ?? 0),
    network?.new_endpoints?.map((e) => `${quoted(`${e.method} ${e.url}`)} ${e.status}`),
  );
  group(
    many('groupOpened', websocket?.new_connections?.length ?? 0),
    websocket?.new_connections?.map((c) => `${quoted(c.url)}${times(c.count)}`),
  );
  if (dom?.url_changed != null)
    group(many('groupMoved', 1), [`${quoted(dom.url_changed.from)} → ${quoted(dom.url_changed.to)}`]);
  group(
    many('groupActions', actions?.new_actions?.length ?? 0),
    actions?.new_actions?.map((a) => `${hour(Date.parse(a.at))} ${quoted(actionWords(a))}`),
  );
  const omitted = [log, network, websocket, dom, actions].reduce(
    (sum, section) => sum + (section?.omitted ?? 0),
    0,
  );
  if (omitted > 0) out.push('', many('omitted', omitted));
  if ((r.noise_hidden ?? 0) > 0) out.push('', many('noiseHidden', r.noise_hidden ?? 0));
  if (out.length === 3) out.push('', t('nothingNew'));
  return `${out.join('\n')}\n`;
}

/** The checkpoints as the specification's timeline has them. */
export function timelineText(list: readonly ViewCheckpoint[]): string {
  const wide = Math.max(0, ...list.map(({ name }) => name.length));
  return list
    .map(({ name, since, note }) => {
      const partly = since.not_observed === true ? `, ${t('partly')}` : '';
      const said = note ? ` (${note.replace(/\s+/g, ' ')})` : ''; // on one line nothing ends the block it stands in
      return `${name.padEnd(wide)} → ${spanWords(since)}${partly}${said}\n`;
    })
    .join('');
}
