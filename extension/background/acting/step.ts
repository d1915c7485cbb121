/** One step on one tab: the page access that every operation needs. */
import type { ActAsk, ActTold, Point } from '../../messages';
import {
  type ActNode,
  type ActParams,
  type ActResult,
  type ActStep,
  RefusedDebugger,
  RefusedDialog,
  RefusedFailed,
  RefusedGone,
  RefusedMoving,
} from '../../protocol';
import { askFrame, message, namedBy, Refused } from './ask';
import { click } from './input';
import type { ActingParties } from './parties';
import { FLUSH_MS } from './rest';
import type { TabSend } from './sessions';

const BUSY = 'the page does not answer: it is busy or hangs';
/** How often a click that something else intercepted is retried. */
const MOST_TRIES = 3;
/** The requirements for an element that needs no pointer. */
export const ENABLED = { enabled: true } as const;

/** A step, while it is done. */
export class Step {
  readonly parties: ActingParties;
  readonly tab: number;
  readonly step: ActStep;
  /** The debugger's session; undefined where the browser refuses it. */
  readonly send: TabSend | undefined;
  /** What the steps have brought so far. */
  readonly result: ActResult;
  readonly #deadline: number;

  constructor(
    parties: ActingParties,
    { tab, timeout_ms }: ActParams,
    step: ActStep,
    send: TabSend | undefined,
    result: ActResult,
  ) {
    this.result = result;
    this.parties = parties;
    this.tab = tab;
    this.step = step;
    this.send = send;
    this.#deadline = Date.now() + timeout_ms;
  }

  /** Asks the frame of a path's last element; a refusal is thrown. */
  async ask(path: readonly ActNode[], ask: Omit<ActAsk, 'ms'> & { ms?: number }): Promise<ActTold> {
    const node = path.at(-1);
    const frame = node?.frame ?? 0;
    const left = Math.max(this.#deadline - Date.now(), 1);
    const of = node === undefined ? {} : namedBy(node);
    const asked = askFrame(this.tab, frame, {
      ...of,
      ms: left,
      ...ask,
    });
    const { activity } = this.parties;
    const documents = activity.documents(this.tab);
    const told = await this.answered(asked, left + FLUSH_MS, () => {
      // Its document will never answer.
      if (activity.documents(this.tab) !== documents) throw new Refused({ refused: RefusedGone });
    });
    if (told.refused !== undefined) {
      const refused = {
        refused: told.refused,
        ...(told.text !== undefined && { text: told.text }),
        ...(told.by !== undefined &&
          node !== undefined && { by: { frame, document: node.document, id: told.by } }),
      };
      throw new Refused(refused, told.blame, path);
    }
    if (told.since !== undefined) this.result.began ??= told.since;
    return told;
  }

  /** Waits for a promise, for a limited time, and not while a dialog blocks the page. */
  async answered<T>(
    promise: Promise<T>,
    ms: number,
    look = (): void => undefined,
    late: Error = new Refused({ refused: RefusedFailed, text: BUSY, busy: true }),
  ): Promise<T> {
    const { sessions, activity } = this.parties;
    let settled = false;
    const done = promise.finally(() => {
      settled = true;
    });
    done.catch(() => undefined);
    const deadline = Date.now() + ms;
    while (!settled) {
      const left = deadline - Date.now();
      if (sessions.dialog(this.tab) !== undefined) throw new Refused({ refused: RefusedDialog });
      if (this.parties.paused(this.tab)) throw new Error('the page is paused in the debugger');
      look();
      if (left <= 0) throw late;
      await Promise.race([done, activity.change(this.tab, left)]);
    }
    return await done;
  }

  /** Sends input. Resolves when the page has handled it, a dialog opens, or the page is left. */
  async input(work: Promise<unknown>): Promise<void> {
    const { sessions, activity } = this.parties;
    let settled = false;
    let failed: unknown;
    const done = work.then(
      () => {
        settled = true;
      },
      (error: unknown) => {
        settled = true;
        failed = error;
      },
    );
    const deadline = Date.now() + this.inputMs();
    const { paused } = this.parties;
    const goesOn = (): boolean =>
      sessions.dialog(this.tab) === undefined && !activity.loading(this.tab) && !paused(this.tab);
    while (!settled && goesOn()) {
      const left = deadline - Date.now();
      if (left <= 0) return; // the page has the input, and is busy with it: what it causes is waited for
      await Promise.race([done, activity.change(this.tab, left)]);
    }
    if (failed !== undefined && !/Detached|closed|navigat|not attached/i.test(message(failed))) throw failed;
  }

  /** How long what is done to the page may still take, in ms; at least a little. */
  inputMs(): number {
    return Math.max(this.#deadline - Date.now(), 200);
  }

  /** The place of an element in the tab's viewport; it is in view, and would be hit there. */
  async point(path: readonly ActNode[], enabled: boolean, guard = false): Promise<Point> {
    for (;;) {
      let { point, moved: moves = false } = await this.ask(path, {
        do: 'ready',
        needs: { enabled, hit: true },
        guard,
      });
      for (let i = path.length - 1; i > 0; i--) {
        const outer = await this.ask(path.slice(0, i), {
          do: 'through',
          guard,
          ...(point !== undefined && { point }),
        });
        point = outer.point;
        moves ||= outer.moved === true;
      }
      if (point === undefined) throw new Refused({ refused: RefusedGone });
      // A frame that was scrolled to is drawn there some frames later, and until then gets no input.
      if (!moves || path.length === 1) return point;
      if (Date.now() >= this.#deadline) throw new Refused({ refused: RefusedMoving });
    }
  }

  /** Clicks on an element, and on nothing else: what comes under the pointer in its place gets nothing of it. */
  async strike(
    send: TabSend,
    path: readonly ActNode[],
    button: string,
    count: number,
    modifiers: number,
  ): Promise<void> {
    for (let tried = 1; ; tried++) {
      const point = await this.point(path, true, true);
      await this.input(click(send, point, button, count, modifiers));
      const missed = await this.#missed(path);
      if (missed === undefined) return;
      if (tried === MOST_TRIES || Date.now() >= this.#deadline) throw missed;
    }
  }

  /** Why a click did not reach its element; undefined if it did, or if that is no longer known. */
  async #missed(path: readonly ActNode[]): Promise<Refused | undefined> {
    const { sessions, activity, paused } = this.parties;
    const tab = this.tab;
    if (sessions.dialog(tab) !== undefined || activity.loading(tab) || paused(tab)) return undefined;
    const asked = path.map(async ({ frame, document }, at): Promise<Refused | undefined> => {
      const told = await askFrame(tab, frame, { do: 'struck', document, ms: 0 });
      if (told.unclicked !== undefined) this.result.unclicked = told.unclicked;
      if (told.refused === undefined) return undefined;
      const refused = {
        refused: told.refused,
        ...(told.text !== undefined && { text: told.text }),
        ...(told.by !== undefined && { by: { frame, document, id: told.by } }),
      };
      return new Refused(refused, told.blame, path.slice(0, at + 1));
    });
    // A page that is left, or busy with the click, has got it.
    const all = await this.answered(Promise.all(asked), this.inputMs()).catch(() => []);
    return all.find((missed) => missed !== undefined);
  }

  /** The debugger, for what cannot be done without. */
  debugger(): TabSend {
    if (this.send !== undefined) return this.send;
    throw new Refused({ refused: RefusedDebugger, text: this.result.untrusted ?? '' });
  }
}
