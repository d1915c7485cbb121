/** The web dashboard: the viewer in any browser, for the daemon that serves this page. */
import { render } from 'preact';
import '../ui/tokens.css';
import { t } from '../../extension/text';
import { Dashboard } from './dashboard';
import { HttpClient } from './http-client';
import { SignedOut, signIn } from './session';
import { SignInPage } from './sign-in-page';

const root = document.getElementById('dashboard');

async function begin(into: HTMLElement): Promise<void> {
  try {
    const { token } = await signIn(window);
    const client = new HttpClient(token);
    client.connect();
    render(<Dashboard client={client} />, into);
  } catch (error) {
    const text = error instanceof SignedOut ? error.message : t('noAnswerFromHost', t('signedOut'));
    render(<SignInPage text={text} />, into);
  }
}

if (root !== null) {
  void begin(root);
  // A new code in the address of this very tab: it is signed in by it.
  window.addEventListener('hashchange', () => window.location.reload());
}
