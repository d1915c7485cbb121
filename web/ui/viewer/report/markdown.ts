/** A report as Markdown, to be pasted where people talk. */
import type { ViewCheckpoint, ViewReport, ViewSpan } from '../../../../extension/protocol';
import { spanWords } from '../../../../extension/standing';
import { many, t } from '../../../../extension/text';
import { duration } from '../format';
import { gapTabs, gapTime, gapWords } from '../words';
import { listsOf, omittedOf } from './lists';

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
  const group = (title: string, lines: string[]): void => {
    if (lines.length === 0) return;
    out.push('', `### ${title}`, '', ...lines.map((line) => `- ${line}`));
  };
  const gaps = r.coverage?.gaps?.map((gap) =>
    [`${gapTime(gap)} ${gapWords(gap.reason)}`, gapTabs(gap)].filter(Boolean).join(', '),
  );
  if (r.coverage !== undefined) group(t('notObserved'), gaps ?? [r.coverage.note]);
  for (const { heading, markdown } of listsOf(r)) {
    const lines = markdown(r);
    group(heading(lines.length), lines);
  }
  const omitted = [...omittedOf(r).values()].reduce((sum, n) => sum + n, 0);
  if (omitted > 0) out.push('', many('omitted', omitted));
  if ((r.noise_hidden ?? 0) > 0) out.push('', many('noiseHidden', r.noise_hidden ?? 0));
  if (out.length === 3) out.push('', t('nothingNew'));
  return `${out.join('\n')}\n`;
}

/** The checkpoints as the specification's timeline has them. */
export function timelineText(list: readonly ViewCheckpoint[], now?: ViewSpan): string {
  const lines = list.map(({ moment, since, note }) => ({ name: moment, since, note }));
  if (now !== undefined) lines.push({ name: t('now'), since: now, note: undefined });
  const wide = Math.max(0, ...lines.map(({ name }) => name.length));
  return lines
    .map(({ name, since, note }) => {
      const said = note ? ` (${note.replace(/\s+/g, ' ')})` : ''; // on one line nothing ends the block it stands in
      return `${name.padEnd(wide)} → ${spanWords(since)}${said}\n`;
    })
    .join('');
}
