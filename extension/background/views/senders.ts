/** Who is at the other end of a port. */

type Sender = Pick<chrome.runtime.MessageSender, 'id' | 'url' | 'origin'>;

/**
 * Whether a port was opened by a page of this extension. A content script has the address of the page that
 * it runs in, whatever it says by itself; another extension has another id.
 */
export function isOwnPage(
  sender: Sender | undefined,
  runtime: { id: string; getURL(path: string): string },
): boolean {
  if (sender?.id !== runtime.id) return false;
  const root = runtime.getURL('');
  if (sender.origin !== undefined && `${sender.origin}/` !== root) return false;
  return sender.url?.startsWith(root) === true;
}
