/**
 * Waits until a page has dealt with what was done to it. Nothing sleeps: what is waited for are frames of the
 * documents without a change, ends of requests and of loading.
 */
import type { ActObjection, ActResult, AriaParams, AriaResult } from '../../protocol';
import { askFrame } from './ask';
import type { ActingParties } from './parties';

/** How long to wait for a document that never settles, in ms: some have clocks. */
const RESTLESS_MS = 250;
/** How long a document whose address changed may compute before it shows what is there, in ms. */
const ROUTE_MS = 1000;
/** How often to wait once more because another request ended meanwhile: some pages request without end. */
const MOST_AGAIN = 2;
/** How long to wait for what moves, where the page shows next to nothing else of the action, in ms. */
const MOVES_MS = 500;
/** How many lines may be different where a page shows next to nothing of an action: what has the focus now, and had it. */
const FEW_LINES = 2;
/** How long pages may take to send their pending events, in ms. */
export const FLUSH_MS = 500;

/** What is waited for. */
export interface RestOptions {
  /** The frames whose elements were acted on. */
  frames: readonly number[];
  /** Requests that began before this do not count; in ms since the epoch. */
  since: number;
  /** How long it may take. */
  ms: number;
  /** Another step follows, so nothing is reported yet. */
  between?: boolean;
  /** The step acted on fields: rejected and ignored input is reported. */
  fields?: boolean;
  /** The page is looked at. */
  look?: AriaParams | undefined;
}

type Rested = Pick<ActResult, 'dialog' | 'waiting' | 'busy' | 'page' | 'objections'>;

/** The reports of each frame. */
type Objections = Map<number, ActObjection[]>;

export class Rest {
  readonly #parties: ActingParties;

  constructor(parties: ActingParties) {
    this.#parties = parties;
  }

  /**
   * Resolves when no document is on its way, none changes, and no request is out that may end any moment. Then
   * all that happened is with the host, unless another step follows.
   */
  async of(tab: number, options: RestOptions): Promise<Rested> {
    const { sessions, activity, frames, port } = this.#parties;
    const { since, between = false } = options;
    const deadline = Date.now() + options.ms;
    const rested: Rested = {};
    const objections: Objections = new Map();
    let flushed = false;
    let answers = true;
    let again = 0;
    let idled = false;
    for (let prepared = -1; ; ) {
      const dialog = sessions.shown(tab);
      if (dialog !== undefined) {
        rested.dialog = dialog;
        break;
      }
      if (this.#parties.paused(tab)) break; // the host reports the pause
      const left = deadline - Date.now();
      if (left <= 0) {
        rested.waiting = activity.loading(tab) ? ['the next page'] : activity.unended(tab, since);
        if (activity.loading(tab) && !answers) rested.busy = true; // one that hangs, and is never left
        break;
      }
      const documents = activity.documents(tab);
      if (activity.loading(tab)) {
        // While it loads, what the page will be asked by is put into it.
        if (prepared !== documents) {
          answers = false;
          const answered = (): void => {
            answers = true;
          };
          askFrame(tab, 0, { do: 'rest', ms: 0 }).then(answered, answered);
        }
        prepared = documents;
        await activity.change(tab, left);
        continue;
      }
      const interrupted = (): boolean =>
        this.#parties.paused(tab) ||
        sessions.dialog(tab) !== undefined ||
        activity.loading(tab) ||
        activity.documents(tab) !== documents;
      if (!between && !idled && activity.moved(tab, since)) {
        // A framework may render the view of the new address in many short tasks, over frames that change nothing.
        idled = true;
        const ms = Math.min(ROUTE_MS, left);
        if (!(await this.#until(tab, askFrame(tab, 0, { do: 'idle', ms }), interrupted, left))) continue;
      }
      let page: AriaResult | undefined;
      let ended = activity.ended(tab);
      const quiet = between
        ? this.#quiet(tab, options, Math.min(RESTLESS_MS, left), objections)
        : this.#told(tab, options, left, objections).then((told) => {
            page = told.page;
            ended = told.ended;
          });
      if (!(await this.#until(tab, quiet, interrupted, left))) {
        if (interrupted()) continue;
        rested.busy = true; // the page does not answer
        break;
      }
      if (interrupted()) continue;
      if (activity.flights(tab, since).length === 0) {
        if (!between && !idled && activity.moved(tab, since)) continue;
        // The page has not had a frame yet to show what the last answer brought.
        if (!between && activity.ended(tab) !== ended && again++ < MOST_AGAIN) continue;
        const unended = activity.unended(tab, since);
        if (unended.length > 0) rested.waiting = unended;
        if (page !== undefined) rested.page = page;
        const told = [...objections.values()].flat();
        if (told.length > 0) rested.objections = told;
        flushed = !between;
        break;
      }
      await activity.change(tab, Math.min(left, 100));
    }
    if (between && rested.dialog === undefined) return rested;
    if (!flushed && rested.dialog === undefined && rested.busy !== true && !this.#parties.paused(tab))
      await frames.flush(tab, FLUSH_MS);
    await port.drained();
    return rested;
  }

  /**
   * Resolves when the frames did not change for two of their animation frames: what a page does "in the next
   * frame" it has done then, and also what it does in the one after. The look at the page is taken within the
   * second one, and again if that brought a change, or if a request ended within it. Only then is asked for what was
   * noticed, since the second frame may have logged or requested something; all that comes before its answer. Ended
   * counts the requests that had ended before the last frame. Where the page shows next to nothing but moves something, as
   * while a backdrop fades in, the end of that is waited for.
   */
  async #told(
    tab: number,
    options: RestOptions,
    ms: number,
    objections: Objections,
  ): Promise<{ page: AriaResult | undefined; ended: number }> {
    const { activity, source, frames: contents } = this.#parties;
    const { since, look } = options;
    const end = Date.now() + ms;
    const restless = (): number => Math.min(Date.now() + RESTLESS_MS, end);
    let deadline = restless();
    const moving = new Set<number>();
    const quiet = (): Promise<string> =>
      this.#quiet(tab, options, Math.max(deadline - Date.now(), 0), objections, moving);
    let page: AriaResult | undefined;
    let ended: number;
    let waited = false;
    for (let before = await quiet(); ; ) {
      ended = activity.ended(tab);
      // With requests under way there is more to come.
      const looking =
        look === undefined || activity.flights(tab, since).length > 0
          ? undefined
          : this.#parties.look(look).catch(() => undefined); // the host takes its own and learns why it fails
      const [now, looked] = await Promise.all([quiet(), looking]);
      page = looked;
      const changed = now !== before;
      before = now;
      if ((changed || activity.ended(tab) !== ended) && Date.now() < deadline) continue;
      if (waited || moving.size === 0 || page === undefined || changedLines(page) > FEW_LINES) break;
      waited = true;
      const longest = Math.max(Math.min(MOVES_MS, end - Date.now()), 0);
      const moves = [...moving].map((frame) => askFrame(tab, frame, { do: 'moves', since, ms: longest }));
      await Promise.allSettled(moves);
      deadline = restless();
    }
    await Promise.all([source.barrier(tab).catch(() => undefined), contents.flush(tab, FLUSH_MS)]);
    return { page, ended };
  }

  /** Resolves when the top frame and others were at rest for a frame, with how often each has changed so far. */
  async #quiet(
    tab: number,
    { frames, fields = false, since }: RestOptions,
    ms: number,
    objections: Objections,
    moving?: Set<number>,
  ): Promise<string> {
    const quiet = [...new Set([0, ...frames])].map(async (frame) => {
      const told = await askFrame(tab, frame, { do: 'rest', ms, fields, since }).catch(() => undefined);
      const { document = '', objections: list = [], moves = false } = told ?? {};
      if (moves) moving?.add(frame);
      else moving?.delete(frame);
      objections.set(
        frame,
        list.map(({ id, strayed, ...objection }) => ({
          field: { frame, document, id },
          ...objection,
          ...(strayed !== undefined && { strayed: { frame, document, id: strayed } }),
        })),
      );
      return told?.changes;
    });
    return (await Promise.all(quiet)).join();
  }

  /** Waits for something, unless it is interrupted or takes too long: then false. */
  async #until(
    tab: number,
    work: Promise<unknown>,
    interrupted: () => boolean,
    ms: number,
  ): Promise<boolean> {
    const deadline = Date.now() + ms;
    let done = false;
    const working = work.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    while (!done && !interrupted() && Date.now() < deadline) {
      await Promise.race([working, this.#parties.activity.change(tab, deadline - Date.now())]);
    }
    return done;
  }
}

/** How many lines of a page are different since the host saw it; all of a document that it has not seen. */
function changedLines({ frames }: AriaResult): number {
  return frames.reduce((sum, { nodes }) => sum + nodes.length, 0);
}
