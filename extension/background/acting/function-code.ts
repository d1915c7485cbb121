/**
 * Reads a function of the page: its code, and where pieces of that are in the script. Nothing of the page is run; see
 * `made-by.ts`.
 */
import type { Protocol } from 'devtools-protocol';
import type { ActBlame } from '../../protocol';
import type { TabSend } from './sessions';

/** The longest code of a function, in UTF-16 units. */
export const MAX_CODE = 500_000;

export type Fields = ReadonlyMap<string, Protocol.Runtime.RemoteObject>;
export type Compiled = Pick<ActBlame, 'compiled_line' | 'compiled_column'>;

/** The values of an object's own properties; accessors and what proxies have are left out. */
export async function fieldsOf(
  send: TabSend,
  object: Protocol.Runtime.RemoteObject | undefined,
): Promise<Fields> {
  const fields = new Map<string, Protocol.Runtime.RemoteObject>();
  if (object?.objectId === undefined || object.subtype === 'proxy') return fields;
  const { result } = await send('Runtime.getProperties', { objectId: object.objectId, ownProperties: true });
  for (const { name, value } of result) if (value !== undefined) fields.set(name, value);
  return fields;
}

/** The place in its script of what is at an index of a function's code. */
export async function placeIn(
  send: TabSend,
  { objectId, description: code = '' }: Protocol.Runtime.RemoteObject,
  index: number,
): Promise<Compiled | undefined> {
  if (objectId === undefined) return undefined;
  const { internalProperties = [] } = await send('Runtime.getProperties', { objectId, ownProperties: true });
  const location: unknown = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value
    ?.value;
  const { lineNumber, columnNumber } = (location ?? {}) as Partial<Protocol.Debugger.Location>;
  if (lineNumber === undefined || columnNumber === undefined) return undefined;
  // A function is where its parameters are. An arrow function may have one without parentheses.
  const from = /^(?:async\s+)?[\w$]+\s*=>/.test(code) ? 0 : code.indexOf('(');
  if (from < 0 || index < from) return undefined;
  const between = code.slice(from, index).split('\n');
  const [last = ''] = between.slice(-1);
  return {
    compiled_line: lineNumber + between.length,
    compiled_column: last.length + (between.length === 1 ? columnNumber : 0) + 1,
  };
}

/**
 * Where the code of a component of React creates the element for which it says a line and a column; -1 if it does not. Each
 * call has one such saying among its arguments, so that both are nested like brackets.
 */
export function creates(code: string, line: number, column: unknown): number {
  const open: number[] = [];
  const parts =
    /(?:jsxDEV|(?<!\bdocument\.)createElement)\)?\(|\blineNumber:\s*(\d{1,9})(?:,\s*columnNumber:\s*(\d{1,9}))?\s*\}/g;
  for (const { 0: part, 1: saidLine, 2: saidColumn, index } of code.matchAll(parts)) {
    if (saidLine === undefined) {
      open.push(index + part.length);
      continue;
    }
    const call = open.pop();
    const same = saidColumn === undefined ? typeof column !== 'number' : Number(saidColumn) === column;
    if (call !== undefined && Number(saidLine) === line && same) return call;
  }
  return -1;
}

/** The function with which a component of React, as a fiber has it, renders; undefined if there is none. */
export async function renderOf(
  send: TabSend,
  type: Protocol.Runtime.RemoteObject | undefined,
): Promise<Protocol.Runtime.RemoteObject | undefined> {
  let at = type;
  // memo has the component as its type, forwardRef as its render.
  for (let i = 0; i < 3 && at?.type === 'object'; i++) {
    const fields = await fieldsOf(send, at);
    at = fields.get('render') ?? fields.get('type');
  }
  if (at?.type === 'function' && at.description?.startsWith('class'))
    at = (await fieldsOf(send, (await fieldsOf(send, at)).get('prototype'))).get('render');
  const usable =
    at?.type === 'function' && at.subtype !== 'proxy' && (at.description ?? '').length <= MAX_CODE;
  return usable ? at : undefined;
}
