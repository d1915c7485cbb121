/** Checks what the host sends: each request is an object with the fields that the protocol says. */
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  type DebugBreakpointParams,
  type DebugCaller,
  type DebugEvaluateParams,
  type DebugMapParams,
  type DebugRemoveParams,
  type DebugRunParams,
  type DebugStateParams,
  type DebugTraceParams,
  type DebugVariablesParams,
} from '../protocol';
import { PARAMS } from '../protocol-rules';
import type { Exceptions } from './thread';

/** What each field is; with a question mark, one that may be left out. */
type Shape = Readonly<Record<string, string>>;

/** Reads who asks, and of which tab. */
export function readCaller(method: string, params: unknown): DebugCaller {
  if (!isShaped<DebugCaller>(params, PARAMS.DebugCaller)) {
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
export const readStateParams = reader<DebugStateParams>(PARAMS.DebugStateParams);

/** Reads the parameters of {@link MethodDebugMap}. */
export const readMapParams = reader<DebugMapParams>(PARAMS.DebugMapParams);

/** Reads the parameters of {@link MethodDebugBreakpoint}. */
export const readBreakpointParams = reader<DebugBreakpointParams>(PARAMS.DebugBreakpointParams);

/** Reads the parameters of {@link MethodDebugRemove}. */
export const readRemoveParams = reader<DebugRemoveParams>(PARAMS.DebugRemoveParams);

/** Reads the parameters of {@link MethodDebugRun}. */
export const readRunParams = reader<DebugRunParams>(PARAMS.DebugRunParams);

/** Reads the parameters of {@link MethodDebugEvaluate}. */
export const readEvaluateParams = reader<DebugEvaluateParams>(PARAMS.DebugEvaluateParams);

/** Reads the parameters of {@link MethodDebugVariables}. */
export const readVariablesParams = reader<DebugVariablesParams>(PARAMS.DebugVariablesParams);

/** Reads the parameters of {@link MethodDebugTrace}. */
export const readTraceParams = reader<DebugTraceParams>(PARAMS.DebugTraceParams);

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

function reader<T>(shape: Shape): (method: string, params: unknown) => T {
  return (method, params) => {
    if (isShaped<T>(params, shape)) return params;
    throw new CodedError(CodeInvalid, `${method}: ${wrongField(params, shape)}.`);
  };
}

function isShaped<T>(params: unknown, shape: Shape): params is T {
  return wrongField(params, shape) === undefined;
}

/** Says what of the parameters is not as it must be; undefined when all is. */
function wrongField(params: unknown, shape: Shape): string | undefined {
  if (typeof params !== 'object' || params === null) return 'the parameters must be an object';
  for (const [field, kind] of Object.entries(shape)) {
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
