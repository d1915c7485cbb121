import type { JSX } from 'preact';
import { t } from '../../extension/text';
import { Instead } from '../ui/instead';

/** Instead of the dashboard, for whoever has no session: why, and how to get one. */
export function SignInPage({ text }: { text: string }): JSX.Element {
  return (
    <Instead icon="./icon.svg" text={text}>
      <p class="muted">{t('sessionLasts')}</p>
    </Instead>
  );
}
