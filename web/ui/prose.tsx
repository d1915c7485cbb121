import type { JSX } from 'preact';
import './prose.css';

/** A sentence in which `words in backticks` are commands or names to be typed as they stand. */
export function Prose({ text }: { text: string }): JSX.Element {
  return (
    <>{text.split('`').map((part, i) => (i % 2 === 1 ? <code key={`${i}${part}`}>{part}</code> : part))}</>
  );
}
