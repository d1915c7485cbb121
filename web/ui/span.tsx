import type { JSX } from 'preact';
import type { ViewSpan } from '../../extension/protocol';
import { spanWords } from '../../extension/standing';
import { SeverityBadge, severityOf } from './severity';

/** How a span of time was, wherever that is shown: its mark, and what was counted in it. */
export function Span({ span }: { span: Omit<ViewSpan, 'summary'> }): JSX.Element {
  return <SeverityBadge severity={severityOf(span.severity, span.not_observed)} words={spanWords(span)} />;
}
