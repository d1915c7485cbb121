import type { JSX } from 'preact';
import { t } from '../text';
import { Prose } from '../ui/prose';

/** Instead of the dashboard, for whoever has no session: why, and how to get one. */
export function SignInPage({ text }: { text: string }): JSX.Element {
  return (
    <main class="signed-out">
      <img src="./icon.svg" width="48" height="48" alt="" />
      <h1>Tidemark</h1>
      <p role="status">
        <Prose text={text} />
      </p>
      <p class="muted">{t('sessionLasts')}</p>
    </main>
  );
}
