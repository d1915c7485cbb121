/**
 * Finds an element in the page's own world, in which code of an agent's is evaluated, and reads what that threw.
 * Nothing of this shows in the page: the element says where it is by an event of a name that nobody else knows, to a
 * world of its own.
 */
import type { Protocol } from 'devtools-protocol';
import type { ActNode } from '../../protocol';
import { RefusedGone } from '../../protocol';
import { Refused } from './ask';
import type { Sessions, TabSend } from './sessions';

/**
 * The element at the end of a path, with the session of its document. `call` has the element of a path dispatch an
 * event. `objectGroup` is the group by which the caller releases the element.
 */
export async function inPage(
  sessions: Pick<Sessions, 'frame'>,
  tab: number,
  top: TabSend,
  path: readonly ActNode[],
  call: (path: readonly ActNode[], event: string) => Promise<void>,
  objectGroup?: string,
): Promise<{ send: TabSend; objectId: string }> {
  let send = top;
  let frameId = (await top('Page.getFrameTree')).frameTree.frame.id;
  for (let i = 1; ; i++) {
    const world = { frameId, worldName: 'Tidemark' };
    const { executionContextId: contextId } = await send('Page.createIsolatedWorld', world).catch(
      async () => {
        send = await sessions.frame(tab, send, frameId); // it is in another process
        return await send('Page.createIsolatedWorld', world);
      },
    );
    const event = `tidemark-${crypto.randomUUID()}`;
    const expression = `addEventListener('${event}', (e) => { globalThis.found = e.composedPath()[0] }, { capture: true, once: true })`;
    await send('Runtime.evaluate', { contextId, expression });
    await call(path.slice(0, i), event);
    const { result } = await send('Runtime.evaluate', { contextId, expression: 'globalThis.found' });
    if (result.objectId === undefined) throw new Refused({ refused: RefusedGone });
    const { node } = await send('DOM.describeNode', { objectId: result.objectId });
    if (i === path.length) {
      const { object } = await send('DOM.resolveNode', {
        backendNodeId: node.backendNodeId,
        ...(objectGroup !== undefined && { objectGroup }),
      });
      if (object.objectId === undefined) throw new Refused({ refused: RefusedGone });
      return { send, objectId: object.objectId };
    }
    if (node.frameId === undefined) throw new Refused({ refused: RefusedGone });
    frameId = node.frameId;
  }
}

/** What code threw, whatever it is. */
export async function thrown(
  send: TabSend,
  { exception, text }: Protocol.Runtime.ExceptionDetails,
): Promise<string> {
  if (exception === undefined) return text;
  const { objectId, subtype, value, description = JSON.stringify(value) ?? text } = exception;
  if (objectId === undefined || subtype === 'error') return description;
  const functionDeclaration = 'function () { return JSON.stringify(this) }';
  const asked = send('Runtime.callFunctionOn', { objectId, functionDeclaration, returnByValue: true });
  const json: unknown = await asked.then(({ result }) => result.value).catch(() => undefined);
  return typeof json === 'string' ? json : description;
}

/** Whether code was no code, so that none of it ran. */
export function isUnread({ exception, stackTrace }: Protocol.Runtime.ExceptionDetails): boolean {
  return exception?.className === 'SyntaxError' && stackTrace === undefined;
}
