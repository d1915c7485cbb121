/** Answers what the host asks of the variables of a paused frame. */
import { CodedError } from '../coded-error';
import {
  CodeInvalid,
  type DebugVariable,
  type DebugVariables,
  type DebugVariablesParams,
  MethodDebugTrace,
  MethodDebugVariables,
  ScopeExpression,
} from '../protocol';
import type { DebugMethod } from './debugging';
import { Walker } from './inspect/capture';
import { FrameReader, knownOf, OWN, type Scoped } from './inspect/frame-reader';
import { readTraceParams, readVariablesParams } from './requests';
import type { DebugSession } from './session';
import { frameState } from './state';
import { trace } from './trace';

/** The methods of reading variables, for {@link Debugging}. */
export const variableMethods: Readonly<Record<string, DebugMethod>> = {
  [MethodDebugTrace]: async (session, params) =>
    await trace(session, readTraceParams(MethodDebugTrace, params)),
  [MethodDebugVariables]: async (session, params) =>
    await variables(session, readVariablesParams(MethodDebugVariables, params)),
};

/** Answers {@link MethodDebugVariables}. */
export async function variables(
  session: DebugSession,
  params: DebugVariablesParams,
): Promise<DebugVariables> {
  const { thread: wanted = 0, frame: index = 0, depth = 0, path = [] } = params;
  const { paths = [], named = [], expressions = [] } = params;
  const thread = session.pausedThread(wanted);
  const frame = session.frame(thread, index);
  const reader = new FrameReader(session, thread, frame);
  const walker = new Walker(reader.ask, knownOf(session, thread).identities);
  let found: Scoped[];
  if (path.length > 0) {
    const scoped = await reader.find(path, walker);
    await walker.walk([scoped.read], depth);
    found = [scoped];
  } else {
    const scopes = new Set(params.scopes?.length ? params.scopes : OWN);
    const { reads } = paths.length > 0 ? await reader.values(paths, walker) : { reads: [] };
    found = [
      ...(await reader.scopes(scopes)),
      ...reads.map(({ field, ...rest }, i) => ({
        scope: ScopeExpression,
        read: { ...rest, field: { ...field, k: '', n: named[i] ?? '' } },
      })),
      ...(await reader.evaluate(expressions)),
    ];
    await walker.walk(
      found.map(({ read }) => read),
      depth,
    );
  }
  reader.secrets.hide(found.map(({ read }) => read.field));
  if (thread.paused === undefined)
    throw new CodedError(
      CodeInvalid,
      `Thread ${thread.id} resumed while its variables were read. Pause it again.`,
    );
  return {
    session: session.began,
    thread: thread.id,
    frame: index,
    at: frameState(frame),
    variables: found.map(({ scope, read }): DebugVariable => ({ scope, value: read.field })),
    ...((walker.gaps.size > 0 || reader.gaps.length > 0) && { gaps: [...reader.gaps, ...walker.gaps] }),
  };
}
