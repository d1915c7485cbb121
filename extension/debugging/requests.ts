/** Checks what the host sends: each request is an object with the fields that the protocol says. */
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  type DebugBreakpointParams,
  type DebugCaller,
  type DebugEvaluateParams,
  type DebugRemoveParams,
  type DebugRunParams,
  type DebugStateParams,
  type DebugTraceParams,
  type DebugVariablesParams,
} from '../protocol';
import type { Exceptions } from './thread';

type KindOf<V> = V extends number
  ? 'number'
  : V extends string
    ? 'string'
    : V extends boolean
      ? 'boolean'
      : V extends readonly unknown[]
        ? 'list'
        : 'object';

/** What each field is; with a question mark, one that may be left out. The compiler knows when one is missing. */
type Shape<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K>
    ? `${KindOf<NonNullable<T[K]>>}?`
    : KindOf<NonNullable<T[K]>>;
};

const CALLER: Shape<DebugCaller> = {
  tab: 'number',
  by: 'string',
  release_ms: 'number',
  client: 'number?',
  evaluate: 'boolean?',
};

/** Reads who asks, and of which tab. */
export function readCaller(method: string, params: unknown): DebugCaller {
  if (!isShaped(params, CALLER)) {
    throw new CodedError(CodeInvalid, `${method} requires tab, by and release_ms.`);
  }
  const { tab, by, client, release_ms, evaluate } = params;
  return {
    tab,
    by,
    release_ms,
    ...(typeof client === 'number' && { client }),
    ...(evaluate === true && { evaluate }),
  };
}

/** Reads the parameters of {@link MethodDebugState}. */
export const readStateParams = reader<DebugStateParams>({ ...CALLER, thread: 'number?', wait_ms: 'number?' });

/** Reads the parameters of {@link MethodDebugBreakpoint}. */
export const readBreakpointParams = reader<DebugBreakpointParams>({ ...CALLER, breakpoint: 'object' });

/** Reads the parameters of {@link MethodDebugRemove}. */
export const readRemoveParams = reader<DebugRemoveParams>({ ...CALLER, id: 'string' });

/** Reads the parameters of {@link MethodDebugRun}. */
export const readRunParams = reader<DebugRunParams>({
  ...CALLER,
  thread: 'number?',
  kind: 'string',
  exceptions: 'string?',
  wait_ms: 'number?',
});

/** Reads the parameters of {@link MethodDebugEvaluate}. */
export const readEvaluateParams = reader<DebugEvaluateParams>({
  ...CALLER,
  thread: 'number?',
  frame: 'number?',
  expression: 'string',
});

/** Reads the parameters of {@link MethodDebugVariables}. */
export const readVariablesParams = reader<DebugVariablesParams>({
  ...CALLER,
  thread: 'number?',
  frame: 'number?',
  scopes: 'list?',
  depth: 'number?',
  paths: 'list?',
  named: 'list?',
  expressions: 'list?',
  path: 'list?',
});

/** Reads the parameters of {@link MethodDebugTrace}. */
export const readTraceParams = reader<DebugTraceParams>({
  ...CALLER,
  id: 'string',
  places: 'list',
  paths: 'list?',
  condition: 'string?',
  every: 'number?',
  limit: 'number',
  wait_ms: 'number',
});

/** Reads which exceptions are to pause. */
export function readExceptions(text: string): Exceptions {
  if (text === 'none' || text === 'uncaught' || text === 'all') return text;
  throw new CodedError(CodeInvalid, `exceptions must be none, uncaught or all, not "${text}".`);
}

/** Reads how far a step goes. */
export function readStep(kind: string): 'over' | 'into' | 'out' {
  if (kind === 'over' || kind === 'into' || kind === 'out') return kind;
  throw new CodedError(CodeInvalid, `kind must be over, into or out, not "${kind}".`);
}

function reader<T>(shape: Shape<T>): (method: string, params: unknown) => T {
  return (method, params) => {
    if (isShaped(params, shape)) return params;
    throw new CodedError(CodeInvalid, `${method}: ${wrongField(params, shape)}.`);
  };
}

function isShaped<T>(params: unknown, shape: Shape<T>): params is T {
  return wrongField(params, shape) === undefined;
}

/** Says what of the parameters is not as it must be; undefined when all is. */
function wrongField<T>(params: unknown, shape: Shape<T>): string | undefined {
  if (typeof params !== 'object' || params === null) return 'the parameters must be an object';
  for (const [field, kind] of Object.entries<string>(shape)) {
    const value: unknown = Reflect.get(params, field);
    if (kind.endsWith('?') && (value === undefined || value === null)) continue;
    const wanted = kind.replace('?', '');
    if (kindOf(value) !== wanted) return `${field} must be ${wanted === 'object' ? 'an' : 'a'} ${wanted}`;
  }
  return undefined;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return value === null ? 'null' : typeof value;
}
