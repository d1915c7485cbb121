import type { JSX } from 'preact';
import { type TextKey, t } from '../../extension/text';
import './severity.css';

/** How things stand; `unknown` while nobody can say. */
export type Severity = 'clean' | 'warning' | 'error' | 'unknown';

const WORDS = {
  clean: 'severityClean',
  warning: 'severityWarning',
  error: 'severityError',
  unknown: 'severityUnknown',
} as const satisfies Record<Severity, TextKey>;

/** The word for a severity, as a person reads it. */
export function severityWord(severity: Severity): string {
  return t(WORDS[severity]);
}

/**
 * Takes a severity off the wire; a word that this version does not know is shown as unknown, and so is what is clean
 * only as far as it was observed.
 */
export function severityOf(word: string | undefined, notObserved = false): Severity {
  if (word === 'clean' && notObserved) return 'unknown';
  return word === 'clean' || word === 'warning' || word === 'error' ? word : 'unknown';
}

const SHAPES: Readonly<Record<Severity, JSX.Element>> = {
  clean: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="M4.8 8.3 7 10.5l4.2-4.8" class="inner" />
    </>
  ),
  warning: (
    <>
      <path d="M8 1.2 15.4 14.2H.6Z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />
      <path d="M8 5.6v4M8 12v.1" class="inner" />
    </>
  ),
  error: (
    <>
      <path d="M5 .9h6L15.1 5v6L11 15.1H5L.9 11V5Z" fill="currentColor" />
      <path d="M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2" class="inner" />
    </>
  ),
  unknown: <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" stroke-dasharray="2.6 2.2" />,
};

/** A severity's mark: told apart by shape as well as by colour. */
export function SeverityMark({ severity, size = 16 }: { severity: Severity; size?: number }): JSX.Element {
  return (
    <svg
      class={`severity-mark ${severity}`}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      aria-hidden="true"
    >
      {SHAPES[severity]}
    </svg>
  );
}

interface BadgeProps {
  severity: Severity;
  words: string;
}

/** A severity's mark with words, for where there is little room. */
export function SeverityBadge({ severity, words }: BadgeProps): JSX.Element {
  return (
    <span class={`severity-badge ${severity}`}>
      <SeverityMark severity={severity} size={12} />
      {words}
    </span>
  );
}
