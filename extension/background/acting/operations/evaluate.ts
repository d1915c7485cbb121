import type { Protocol } from 'devtools-protocol';
import { cutWhole } from '../../../cut';
import { type ActNode, RefusedCode, RefusedFailed } from '../../../protocol';
import { message, Refused } from '../ask';
import { inPage, isUnread, thrown } from '../in-page';
import type { Step } from '../step';

/** Characters of a value. */
const MAX_VALUE = 20_000;
/** How long before the time is over an agent's code is ended, in ms. */
const ENDING_MS = 500;
const NOT_IN_TIME = 'it timed out';

/** Evaluates an agent's code, on an element where one is named. */
export async function evaluate(on: Step): Promise<void> {
  const { path = [], texts: [expression = ''] = [] } = on.step;
  const how = { awaitPromise: true, returnByValue: true, userGesture: true } as const;
  let send = on.debugger();
  const evaluated = async (): Promise<Protocol.Runtime.EvaluateResponse> => {
    if (path.length === 0) {
      const timeout = on.inputMs() - ENDING_MS;
      const answer = await send('Runtime.evaluate', { expression, ...how, timeout });
      if (answer.result.type !== 'function') return answer;
      return await send('Runtime.evaluate', { expression: `(${expression}\n)()`, ...how, timeout });
    }
    const call = async (node: readonly ActNode[], key: string): Promise<void> => {
      await on.ask(node, { do: 'call', key });
    };
    const found = await inPage(on.parties.sessions, on.tab, send, path, call);
    const { objectId } = found;
    send = found.send;
    return await send('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: `function (element) { const value = (${expression}\n); return typeof value === 'function' ? value.call(this, element) : value }`,
      arguments: [{ objectId }],
      ...how,
    });
  };
  let response: Protocol.Runtime.EvaluateResponse;
  try {
    response = await on.answered(evaluated(), on.inputMs(), undefined, new Error(NOT_IN_TIME));
  } catch (error) {
    if (on.parties.sessions.dialog(on.tab) !== undefined) return; // that the code has opened, and waits for
    if (error instanceof Refused) throw error;
    const why = on.inputMs() <= ENDING_MS ? NOT_IN_TIME : message(error);
    throw new Refused({ refused: RefusedCode, text: `returned no value: ${why}` });
  }
  const { result, exceptionDetails } = response;
  if (exceptionDetails !== undefined) {
    const text = cutWhole(await thrown(send, exceptionDetails), MAX_VALUE);
    if (isUnread(exceptionDetails)) throw new Refused({ refused: RefusedFailed, text });
    throw new Refused({ refused: RefusedCode, text: `threw ${text}` });
  }
  on.result.value = cutWhole(JSON.stringify(result.value) ?? result.description ?? 'undefined', MAX_VALUE);
}
