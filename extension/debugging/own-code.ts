/** Code that is not the page's: that of Tidemark and of other extensions. A page never pauses in it. */
import type { Protocol } from 'devtools-protocol';
import { HOOKS } from '../page/records';
import type { Thread } from './thread';

/** Matches the addresses of extensions' scripts, and the name of Tidemark's code in the page's own world. */
const OTHERS = `^chrome-extension://|^${HOOKS.replace('.', '\\.')}$`;
const others = new RegExp(OTHERS);

/** The parameters of `Debugger.setBlackboxPatterns`. */
export const PASSED_OVER: Protocol.Debugger.SetBlackboxPatternsRequest = { patterns: [OTHERS] };

/** Whether a frame is not the page's. What an extension runs as a function has no address. */
export function isOthers(thread: Thread, { url, location }: Protocol.Debugger.CallFrame): boolean {
  const script = thread.scripts.get(location.scriptId);
  const address = url || (script?.url ?? '');
  return address === '' ? script?.isolated === true : others.test(address);
}
