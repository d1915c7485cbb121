import type { ComponentChildren, JSX } from 'preact';
import './instead.css';
import { Prose } from './prose';

interface InsteadProps {
  /** The address of Tidemark's mark. */
  icon: string;
  text: string;
  /** What else there is to say. */
  children?: ComponentChildren;
}

/** Instead of the viewer, where it cannot be: why, and how to get to it. */
export function Instead({ icon, text, children }: InsteadProps): JSX.Element {
  return (
    <main class="instead">
      <img src={icon} width="48" height="48" alt="" />
      <h1>Tidemark</h1>
      <p role="status">
        <Prose text={text} />
      </p>
      {children}
    </main>
  );
}
