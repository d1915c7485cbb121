import type { JSX } from 'preact';
import type { ViewSpan } from '../../extension/protocol';
import { spanWords } from '../../extension/standing';
import { t } from '../../extension/text';
import { SeverityBadge, severityOf } from './severity';

/** How a span of time was, wherever that is shown: its mark, and what was counted in it. */
export function Span({ span }: { span: Omit<ViewSpan, 'summary'> }): JSX.Element {
  const partly = span.not_observed === true;
  return (
    <SeverityBadge
      severity={severityOf(span.severity, partly)}
      words={spanWords(span)}
      title={partly ? t('partly') : undefined}
    />
  );
}
