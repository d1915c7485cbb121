/** Asks the frames of a tab that is acted on. */
import type { ActAsk, ActTold, Blame } from '../../messages';
import { type ActNode, type ActResult, RefusedGone } from '../../protocol';
import { inFrame } from '../aria/aria';

/** A step that was not done. */
export class Refused extends Error {
  readonly told: Pick<ActResult, 'refused' | 'by' | 'text' | 'busy'>;
  /** What the frame of the last element of a path blames for it. */
  readonly blamed: { blame: Blame; path: readonly ActNode[] } | undefined;

  constructor(
    told: Pick<ActResult, 'refused' | 'by' | 'text' | 'busy'>,
    blame?: Blame,
    path: readonly ActNode[] = [],
  ) {
    super(told.refused);
    this.told = told;
    this.blamed = blame === undefined ? undefined : { blame, path };
  }
}

export function message(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // The debugger's errors are written as JSON.
  return /^\{.*"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text;
}

/** By what a frame knows an element, and what it must still be. */
export function namedBy({ document, id, role, name }: ActNode): Omit<ActAsk, 'do' | 'ms'> {
  return { document, id, ...(role !== undefined && { role }), ...(name !== undefined && { name }) };
}

/** Asks one frame, which is given what it needs for an answer if it has not got it yet. */
export async function askFrame(tab: number, frame: number, ask: ActAsk): Promise<ActTold> {
  const said = await inFrame(
    tab,
    frame,
    (request: string) =>
      (globalThis as { tidemarkAct?: (request: string) => Promise<unknown> }).tidemarkAct?.(request),
    [JSON.stringify(ask)],
  );
  if (typeof said !== 'string') throw new Refused({ refused: RefusedGone });
  return JSON.parse(said) as ActTold;
}
