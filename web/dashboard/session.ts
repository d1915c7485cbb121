/**
 * A person's session: the address that `tidemark open` gives holds a code in its fragment, which works once. It
 * is exchanged for a token, which is kept in this browser tab's sessionStorage: no other origin reads that, other
 * ports of this machine included, which get cookies.
 */

import { t } from '../../extension/text';

/** A token, and until when it is good. */
export interface Session {
  token: string;
  /** RFC 3339. */
  until: string;
}

/** What the page has of the browser. */
export interface Browser {
  location: { hash: string; pathname: string };
  history: { replaceState(data: unknown, unused: string, url: string): void };
  sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  fetch(input: string, init?: RequestInit): Promise<Response>;
}

const KEY = 'tidemark.session';

/** Why there is no session, for a person. */
export class SignedOut extends Error {}

/** The session of this tab: that of the code in the address, else the one that is kept. */
export async function signIn(browser: Browser): Promise<Session> {
  const code = browser.location.hash.slice(1);
  if (code === '') {
    const kept = browser.sessionStorage.getItem(KEY);
    if (kept === null) throw new SignedOut(t('signedOut'));
    return JSON.parse(kept) as Session;
  }
  browser.history.replaceState(null, '', browser.location.pathname); // it is used up, whatever comes of it
  const response = await browser.fetch('/api/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) {
    const kept = browser.sessionStorage.getItem(KEY);
    if (kept !== null) return JSON.parse(kept) as Session; // an old address in a tab that is signed in
    throw new SignedOut(t('addressUsed', t('signedOut')));
  }
  const session = (await response.json()) as Session;
  browser.sessionStorage.setItem(KEY, JSON.stringify({ token: session.token, until: session.until }));
  return session;
}
