/**
 * Acts on tabs for agents: by trusted input through the debugger, or by a script's events where the browser
 * refuses that, and then waits for what each step causes.
 *
 * It guarantees: an answer within the time that it is given, and no step on another element than the one
 * that is named.
 */
import { CodedError } from '../../coded-error';
import {
  type ActParams,
  type ActResult,
  type ActStep,
  type AriaParams,
  CodeInvalid,
  CodeNone,
  CodePaused,
  CodeUnavailable,
  CodeUnwatched,
  RefusedDialog,
  RefusedFailed,
  RefusedLoad,
  RefusedNoDialog,
  RestAll,
  StepChange,
  StepClick,
  StepDialog,
  StepFill,
  StepNavigate,
  StepPress,
  StepReady,
  StepRest,
  StepScreenshot,
  StepScroll,
  StepSeek,
  StepStop,
  StepTab,
  StepType,
} from '../../protocol';
import { watchableOrigin } from '../rules';
import { askFrame, message, Refused } from './ask';
import { madeBy } from './made-by';
import { perform } from './operations';
import type { ActingParties } from './parties';
import { FLUSH_MS, Rest } from './rest';
import type { TabSend } from './sessions';
import { Step } from './step';

/** How long a page is waited for to which nothing was done, in ms. */
const REFUSED_MS = 1000;

/** How long a page may take to say what has changed in it before it is acted on, in ms. */
const BEFORE_MS = 1000;

/** Operations that a page cannot distinguish from a user's, even without the debugger. */
const UNNOTICED = new Set<string>([StepNavigate, StepScroll, StepReady, StepRest, StepSeek]);

/** What does nothing to a page: others may act on it meanwhile. */
const LOOKS = new Set<string>([StepChange, StepReady, StepRest, StepScreenshot, StepSeek]);

/** What fields may not take, or not submit. */
const OF_FIELDS = new Set<string>([StepClick, StepFill, StepPress, StepType]);

/** Checks what the host sent. */
export function readActParams(params: unknown): ActParams {
  const { tab, steps, timeout_ms, settle_ms } = (params ?? {}) as Partial<Record<keyof ActParams, unknown>>;
  const numbers = [tab, timeout_ms, settle_ms].every((n) => typeof n === 'number' && n >= 0);
  if (!numbers || !Array.isArray(steps)) {
    throw new CodedError(CodeInvalid, 'act: tab, timeout_ms and settle_ms must be numbers, steps a list.');
  }
  return params as ActParams;
}

export class Acting {
  readonly #parties: ActingParties;
  readonly #rest: Rest;
  /** What is being done, by tab; not what only looks. */
  readonly #running = new Map<number, { stopped: boolean }>();

  constructor(parties: ActingParties) {
    this.#parties = parties;
    this.#rest = new Rest(parties);
  }

  /** Does the steps, as far as they can be done. */
  async act(params: ActParams): Promise<ActResult> {
    const { steps } = params;
    if (steps[0]?.op === StepTab) return await this.#tabs(params, steps[0]);
    const { tab } = params;
    const { sessions, activity } = this.#parties;
    if (steps[0]?.op === StepStop) {
      const running = this.#running.get(tab);
      if (running !== undefined) running.stopped = true;
      return { done: 0 };
    }
    await this.#check(tab, steps);
    const result: ActResult = { done: 0 };
    const run = { stopped: false };
    const looks = steps.every(({ op }) => LOOKS.has(op));
    if (!looks) this.#running.set(tab, run);
    const look = await this.#lookBefore(params, result);
    const [first] = steps;
    const whole = first?.op === StepRest && first.texts?.[0] === RestAll;
    const since = whole ? 0 : Date.now();
    try {
      for (const step of steps) {
        if (run.stopped) throw new Refused({ refused: RefusedFailed, text: 'the action was stopped' });
        if (step.op === StepChange) {
          await this.#change(tab, params.settle_ms);
        } else {
          await this.#step(params, step, result);
          const between = step !== steps.at(-1);
          const { objections = [], ...rested } = await this.#rest.of(tab, {
            frames: framesOf(step),
            fields: OF_FIELDS.has(step.op),
            since,
            ms: params.settle_ms,
            between,
            look: between ? undefined : look,
          });
          delete result.waiting; // for the step before
          Object.assign(result, rested);
          if (objections.length > 0) result.objections = [...(result.objections ?? []), ...objections];
        }
        const loads = whole || step.op === StepNavigate;
        if (loads && activity.failure(tab) !== '' && result.dialog === undefined) {
          throw new Refused({ refused: RefusedLoad, text: activity.failure(tab) });
        }
        result.began ??= since;
        result.done++;
        if (result.dialog !== undefined) break;
      }
    } catch (error) {
      await this.#exists(tab);
      const told: Refused['told'] =
        error instanceof Refused ? error.told : { refused: RefusedFailed, text: message(error) };
      const most = told.busy === true ? 0 : REFUSED_MS;
      const ms = result.done > 0 ? params.settle_ms : Math.min(params.settle_ms, most);
      Object.assign(result, told, await this.#rest.of(tab, { frames: [], since, ms }));
    } finally {
      sessions.release(tab);
      if (this.#running.get(tab) === run) this.#running.delete(tab);
    }
    // A client that only waits for a change asks again, and its last request reports. What an action opens and
    // downloads belongs to that action.
    return steps.every(({ op }) => op === StepChange) || (looks && this.#running.has(tab))
      ? result
      : Object.assign(result, activity.made(tab, since));
  }

  /** Throws if a tab is closed. */
  async #exists(tab: number): Promise<void> {
    if ((await this.#parties.address(tab)) === undefined)
      throw new CodedError(CodeNone, 'the tab was closed');
  }

  /** Refuses tabs that do not exist or that the user has not allowed, and pages that are not web pages. */
  async #check(tab: number, steps: readonly ActStep[]): Promise<void> {
    const { watched, address, allowed } = this.#parties;
    await this.#exists(tab);
    const [step] = steps;
    const to = step?.op === StepNavigate ? (step.texts?.[0] ?? '') : '';
    const goes = watchableOrigin(to) !== undefined;
    if (goes && !allowed(tab, to)) {
      throw new CodedError(
        CodeUnwatched,
        `${new URL(to).origin} is not turned on. The user can turn it on in Tidemark's popup`,
      );
    }
    if (goes) return; // wherever the tab is now
    if (!watched(tab))
      throw new CodedError(
        CodeUnwatched,
        "this tab is not turned on. The user can turn it on in Tidemark's popup",
      );
    if (this.#parties.paused(tab)) {
      throw new CodedError(CodePaused, 'the page is paused in the debugger; resume it with debugger_resume');
    }
    const now = await address(tab);
    if (now === undefined) throw new CodedError(CodeNone, 'the tab was closed'); // a moment ago
    if (watchableOrigin(now) === undefined) {
      throw new CodedError(CodeUnavailable, 'actions work only on http and https pages');
    }
  }

  /**
   * Looks at a page that is no longer as it was when it was looked at last, so that this is told apart from what the
   * steps cause. Answers with how to look at it once they are done.
   */
  async #lookBefore(params: ActParams, result: ActResult): Promise<AriaParams | undefined> {
    const { tab, look, before = false } = params;
    const { activity, sessions } = this.#parties;
    const known = look?.known?.length ?? 0;
    if (look === undefined || !before || known === 0) return look;
    if (activity.seen(tab) || sessions.dialog(tab) !== undefined) return look;
    const page = await this.#parties.look(look, BEFORE_MS).catch(() => undefined);
    if (page === undefined) return look; // the whole page is reported afterwards
    result.before = page;
    return { ...look, known: page.frames.map(({ document, version }) => ({ document, version })) };
  }

  /** Opens, shows or closes a tab. */
  async #tabs({ tab, settle_ms }: ActParams, { texts = [] }: ActStep): Promise<ActResult> {
    const { sessions, watched, allowed } = this.#parties;
    const [what, url = ''] = texts;
    if (what === 'new') {
      if (watchableOrigin(url) === undefined || !allowed(-1, url)) {
        throw new CodedError(
          CodeUnwatched,
          `${url} is not turned on. The user can turn it on in Tidemark's popup`,
        );
      }
      const since = Date.now();
      const { id } = await chrome.tabs.create({ url });
      if (id === undefined) throw new CodedError(CodeUnavailable, 'the browser did not open a tab');
      this.#parties.activity.navigates(id, 'begins');
      return { done: 1, opened: [id], ...(await this.#rest.of(id, { frames: [], since, ms: settle_ms })) };
    }
    await this.#exists(tab);
    if (!watched(tab))
      throw new CodedError(
        CodeUnwatched,
        "this tab is not turned on. The user can turn it on in Tidemark's popup",
      );
    if (what === 'close') return await this.#close(tab, settle_ms);
    const shown = await chrome.tabs.update(tab, { active: true });
    if (shown !== undefined) {
      await chrome.windows.update(shown.windowId, { focused: true }).catch(() => undefined);
    }
    sessions.release(tab);
    return { done: 1 };
  }

  /** Closes a tab. Its page may ask for confirmation, which only the debugger reports. */
  async #close(tab: number, ms: number): Promise<ActResult> {
    const { sessions, activity } = this.#parties;
    await sessions.of(tab).catch(() => undefined);
    let closed = false;
    const closing = chrome.tabs.remove(tab).then(() => {
      closed = true;
    });
    const deadline = Date.now() + ms;
    while (!closed && Date.now() < deadline) {
      const dialog = sessions.shown(tab);
      if (dialog !== undefined) {
        closing.catch(() => undefined);
        sessions.release(tab);
        return { done: 0, dialog };
      }
      await Promise.race([closing, activity.change(tab, deadline - Date.now())]);
    }
    return { done: closed ? 1 : 0 };
  }

  /** Resolves when a document of the tab changes, or something it asked for has come. */
  async #change(tab: number, ms: number): Promise<void> {
    const { sessions, activity, frames, port } = this.#parties;
    if (sessions.dialog(tab) === undefined && !activity.loading(tab)) {
      const changed = askFrame(tab, 0, { do: 'change', ms });
      await Promise.race([changed.catch(() => undefined), activity.change(tab, ms)]);
    } else {
      await activity.change(tab, ms);
    }
    if (sessions.dialog(tab) === undefined) await frames.flush(tab, FLUSH_MS);
    await port.drained();
  }

  async #step(params: ActParams, step: ActStep, result: ActResult): Promise<void> {
    const { sessions, attached } = this.#parties;
    if (step.op === StepRest) return;
    delete result.untrusted;
    const open = sessions.dialog(params.tab) !== undefined;
    if (open && step.op !== StepDialog) throw new Refused({ refused: RefusedDialog });
    if (!open && step.op === StepDialog) throw new Refused({ refused: RefusedNoDialog });
    let send: TabSend | undefined;
    try {
      // Reading a page attaches no debugger, which the user would see.
      if (step.op !== StepSeek || attached(params.tab)) send = await sessions.of(params.tab);
    } catch (error) {
      result.untrusted = message(error);
    }
    try {
      await perform(new Step(this.#parties, params, step, send, result));
    } catch (error) {
      if (error instanceof Refused && error.blamed !== undefined) {
        const { blame, path } = error.blamed;
        result.blame = await madeBy(sessions, params.tab, send, path, blame);
      }
      throw error;
    }
    if (UNNOTICED.has(step.op)) delete result.untrusted;
  }
}

function framesOf(step: ActStep): number[] {
  return (step.path ?? []).map(({ frame }) => frame);
}
