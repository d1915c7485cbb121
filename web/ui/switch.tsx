import type { JSX } from 'preact';
import './switch.css';

interface SwitchProps {
  on: boolean;
  label: string;
  title?: string | undefined;
  busy?: boolean;
  /** Called inside the person's gesture, so that it may ask the browser for permissions. */
  onToggle: (on: boolean) => void;
}

/** A switch: operable by Space and Enter, and heard as one by screen readers. */
export function Switch({ on, label, title, busy = false, onToggle }: SwitchProps): JSX.Element {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={on}
      aria-label={label}
      aria-busy={busy}
      title={title}
      onClick={() => {
        if (!busy) onToggle(!on);
      }}
    >
      <span class="knob" />
    </button>
  );
}
