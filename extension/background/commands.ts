/** Answers what the host asks of the extension. */

import type { CaptureSource } from '../capture/source';
import { CodedError } from '../coded-error';
import type { Debugging } from '../debugging/debugging';
import {
  type AriaParams,
  type AriaResult,
  CodeInvalid,
  CodePaused,
  CodeUnknown,
  type DebugCaller,
  DebugPrefix,
  MethodAct,
  MethodAgents,
  MethodAria,
  MethodDebugScripts,
  MethodSourceMap,
  MethodSync,
  type SyncParams,
  type SyncResult,
} from '../protocol';
import { type Acting, readActParams } from './acting/acting';
import type { Activity } from './acting/activity';
import { maskedResult } from './acting/masked';
import { aria, readAriaParams } from './aria/aria';
import type { ContentFrames } from './frames';
import type { HostPort } from './port';
import { type SourceMapParties, sourceMap } from './source-maps';
import type { WatchedTabs } from './tabs';

/** Those who take part in answering. */
export interface CommandParties {
  readonly tabs: Pick<WatchedTabs, 'all'>;
  readonly frames: Pick<ContentFrames, 'flush' | 'hide'>;
  readonly source: Pick<CaptureSource, 'barrier'>;
  readonly port: Pick<HostPort, 'drained'>;
  readonly maps: SourceMapParties;
  readonly debugging: Pick<Debugging, 'answer' | 'paused' | 'whenPaused' | 'framePaused'>;
  readonly acting: Pick<Acting, 'act'>;
  readonly activity: Pick<Activity, 'looks' | 'stale'>;
  /** Who acts where has changed. */
  agents(): void;
}

/** Answers one request; rejects with a {@link CodedError} for what is not known or not allowed. */
export async function answer(parties: CommandParties, method: string, params: unknown): Promise<unknown> {
  if (method.startsWith(DebugPrefix)) {
    const answered = await parties.debugging.answer(method, params);
    if (method === MethodDebugScripts)
      await sync(parties, { tabs: [(params as DebugCaller).tab], timeout_ms: LOADS_MS });
    return answered;
  }
  switch (method) {
    case MethodAct: {
      const act = readActParams(params);
      return maskedResult(await parties.acting.act(act), (text) => parties.frames.hide(act.tab, text));
    }
    case MethodAgents:
      parties.agents();
      return {};
    case MethodAria:
      return await readPage(parties, readAriaParams(params));
    case MethodSync:
      return await sync(parties, readSyncParams(params));
    case MethodSourceMap:
      return await sourceMap(parties.maps, params);
    default:
      throw new CodedError(CodeUnknown, `The extension does not know the method "${method}".`);
  }
}

/** How long a tab may take to deliver what it loaded, in ms. A busy page does not. */
const LOADS_MS = 500;

/** How long frames are waited for when the debugger holds one of them, in ms. */
const PAUSED_FRAME_MS = 1500;

/** Waits for each frame for `patience` ms, if given. A paused page does not answer. */
export async function readPage(
  { debugging, activity }: Pick<CommandParties, 'debugging' | 'activity'>,
  params: AriaParams,
  patience?: number,
): Promise<AriaResult> {
  const paused = debugging.whenPaused(params.tab);
  activity.looks(params.tab);
  try {
    const answered = await Promise.race([
      aria(params, debugging.framePaused(params.tab) ? PAUSED_FRAME_MS : patience),
      paused.promise,
    ]);
    if (answered !== undefined) return answered;
  } catch (error) {
    activity.stale(params.tab);
    throw error;
  } finally {
    paused.forget();
  }
  activity.stale(params.tab);
  throw new CodedError(CodePaused, 'The page is paused in the debugger.');
}

function readSyncParams(params: unknown): SyncParams {
  const { tabs, timeout_ms: timeout } = (params ?? {}) as Partial<Record<keyof SyncParams, unknown>>;
  if (typeof timeout !== 'number' || !(timeout >= 0)) {
    throw new CodedError(CodeInvalid, 'sync: timeout_ms must be a number of milliseconds.');
  }
  if (tabs !== undefined && !(Array.isArray(tabs) && tabs.every((tab) => typeof tab === 'number'))) {
    throw new CodedError(CodeInvalid, 'sync: tabs must be a list of tab ids.');
  }
  return { tabs: tabs ?? [], timeout_ms: timeout };
}

/**
 * Has every tab deliver what the browser has reported so far, and posts it, before it answers. A tab
 * that does not answer in time is named; what it did report is delivered all the same.
 */
async function sync(parties: CommandParties, params: SyncParams): Promise<SyncResult> {
  const { tabs, frames, source, port, debugging } = parties;
  const asked = params.tabs?.length ? params.tabs : tabs.all();
  const noDOM: number[] = [];
  const noCapture: number[] = [];
  await Promise.all(
    asked.flatMap((tab) => {
      // The reports of a paused page have already arrived, and no more will come.
      if (debugging.paused(tab) !== undefined) return [];
      return [
        frames.flush(tab, params.timeout_ms).then((answered) => {
          if (!answered) noDOM.push(tab);
        }),
        inTime(source.barrier(tab), params.timeout_ms).then((answered) => {
          if (!answered) noCapture.push(tab);
        }),
      ];
    }),
  );
  await port.drained();
  return {
    ...(noDOM.length > 0 && { no_dom: noDOM }),
    ...(noCapture.length > 0 && { no_capture: noCapture }),
  };
}

/** Whether a promise is fulfilled within a time. */
function inTime(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    const done = (answered: boolean): void => {
      clearTimeout(timer);
      resolve(answered);
    };
    promise.then(
      () => done(true),
      () => done(false),
    );
  });
}
