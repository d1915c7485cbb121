/**
 * Acts on tabs for agents: by trusted input through the debugger, or by a script's events where the browser
 * refuses that, and then waits for what each step causes.
 *
 * It guarantees: an answer within the time that it is given, and no step on another element than the one
 * that is named.
 */
import type { CaptureSource } from '../../capture/source';
import { CodedError } from '../../coded-error';
import type { ActAsk, ActTold, Point } from '../../messages';
import {
  type ActNode,
  type ActParams,
  type ActResult,
  type ActStep,
  CodeInvalid,
  CodePaused,
  CodeUnavailable,
  RefusedChooser,
  RefusedDebugger,
  RefusedDialog,
  RefusedFailed,
  RefusedGone,
  RefusedKind,
  RefusedLoad,
  RefusedNoDialog,
  RefusedOption,
  StepChange,
  StepClick,
  StepDialog,
  StepDrag,
  StepEvaluate,
  StepFill,
  StepHover,
  StepNavigate,
  StepPress,
  StepReady,
  StepRest,
  StepScreenshot,
  StepScroll,
  StepSelect,
  StepStop,
  StepTab,
  StepType,
  StepUpload,
} from '../../protocol';
import { inFrame } from '../aria';
import type { ContentFrames } from '../frames';
import type { HostPort } from '../port';
import { watchableOrigin } from '../rules';
import type { Activity } from './activity';
import { click, drag, hover, press, stroke, type } from './input';
import { modifierBits, readStroke } from './keys';
import type { Sessions, TabSend } from './sessions';

/** Those who take part. */
export interface ActingParties {
  sessions: Sessions;
  activity: Activity;
  source: Pick<CaptureSource, 'barrier'>;
  frames: Pick<ContentFrames, 'flush'>;
  port: Pick<HostPort, 'drained'>;
  watched(tab: number): boolean;
  /** Whether the page stands still at a breakpoint. */
  paused(tab: number): boolean;
  address(tab: number): Promise<string | undefined>;
  /** Whether a page of this address may be opened in a tab. */
  allowed(tab: number, url: string): boolean;
}

/** How long a document that never stands still is waited for, in ms: some have clocks. */
const RESTLESS_MS = 250;
/** How long pages may take to tell what they hold, in ms. */
const FLUSH_MS = 500;

/** What a page cannot tell from a person's doing even without the debugger. */
const UNNOTICED = new Set<string>([StepNavigate, StepScroll, StepReady, StepRest]);

/** Limits of what is answered: characters of a value, CSS pixels of a page's picture, pixels of its side. */
const MAX_VALUE = 20_000;
const MAX_PAGE = 6000;
const MAX_SIDE = 1024;
/** How long the browser may take to draw a picture, in ms. */
const SHOT_MS = 5000;

/** A step that was not done. */
class Refused extends Error {
  readonly told: Pick<ActResult, 'refused' | 'by' | 'text'>;

  constructor(told: Pick<ActResult, 'refused' | 'by' | 'text'>) {
    super(told.refused);
    this.told = told;
  }
}

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
  /** What is being done, by tab. */
  readonly #running = new Map<number, { stopped: boolean }>();

  constructor(parties: ActingParties) {
    this.#parties = parties;
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
    const since = Date.now();
    const run = { stopped: false };
    this.#running.set(tab, run);
    activity.begin(tab);
    try {
      for (const step of steps) {
        if (run.stopped) throw new Refused({ refused: RefusedFailed, text: 'it was stopped' });
        if (step.op === StepChange) {
          await this.#change(tab, params.settle_ms);
        } else {
          await this.#step(params, step, result);
          Object.assign(result, await this.#rest(tab, framesOf(step), since, params.settle_ms));
        }
        if (step.op === StepNavigate && activity.failure(tab) !== '' && result.dialog === undefined) {
          throw new Refused({ refused: RefusedLoad, text: activity.failure(tab) });
        }
        result.done++;
        if (result.dialog !== undefined) break;
      }
    } catch (error) {
      const told = error instanceof Refused ? error.told : { refused: RefusedFailed, text: message(error) };
      Object.assign(result, told, await this.#rest(tab, [], since, params.settle_ms));
    } finally {
      sessions.release(tab);
      if (this.#running.get(tab) === run) this.#running.delete(tab);
    }
    const { opened, downloads } = activity.end(tab);
    if (opened.length > 0) result.opened = opened;
    if (downloads.length > 0) result.downloads = downloads;
    return result;
  }

  /** Refuses tabs that no person has allowed, and pages that are no web pages. */
  async #check(tab: number, steps: readonly ActStep[]): Promise<void> {
    const { watched, address, allowed } = this.#parties;
    const [step] = steps;
    const to = step?.op === StepNavigate ? (step.texts?.[0] ?? '') : '';
    const goes = watchableOrigin(to) !== undefined;
    if (goes && !allowed(tab, to)) {
      throw new CodedError(
        CodeUnavailable,
        `${new URL(to).origin} is not switched on; a person can do that in Tidemark's popup`,
      );
    }
    if (goes) return; // wherever the tab is now
    if (!watched(tab))
      throw new CodedError(
        CodeUnavailable,
        "this tab is not switched on; a person can do that in Tidemark's popup",
      );
    if (this.#parties.paused(tab)) {
      throw new CodedError(CodePaused, 'the page is paused in the debugger; debugger_resume lets it go on');
    }
    if (watchableOrigin(await address(tab)) === undefined) {
      throw new CodedError(CodeUnavailable, 'only pages of http and https can be acted on');
    }
  }

  /** Opens, shows or closes a tab. */
  async #tabs({ tab, settle_ms }: ActParams, { texts = [] }: ActStep): Promise<ActResult> {
    const { sessions, watched, allowed } = this.#parties;
    const [what, url = ''] = texts;
    if (what === 'new') {
      if (watchableOrigin(url) === undefined || !allowed(-1, url)) {
        throw new CodedError(
          CodeUnavailable,
          `${url} is not switched on; a person can do that in Tidemark's popup`,
        );
      }
      const since = Date.now();
      const { id } = await chrome.tabs.create({ url });
      if (id === undefined) throw new CodedError(CodeUnavailable, 'the browser opened no tab');
      this.#parties.activity.navigates(id, 'begins');
      return { done: 1, opened: [id], ...(await this.#rest(id, [], since, settle_ms)) };
    }
    if (!watched(tab))
      throw new CodedError(
        CodeUnavailable,
        "this tab is not switched on; a person can do that in Tidemark's popup",
      );
    if (what === 'close') {
      await chrome.tabs.remove(tab);
      return { done: 1 };
    }
    const shown = await chrome.tabs.update(tab, { active: true });
    if (shown !== undefined) {
      await chrome.windows.update(shown.windowId, { focused: true }).catch(() => undefined);
    }
    sessions.release(tab);
    return { done: 1 };
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
    const { sessions } = this.#parties;
    if (step.op === StepRest) return;
    delete result.untrusted;
    const open = sessions.dialog(params.tab) !== undefined;
    if (open && step.op !== StepDialog) throw new Refused({ refused: RefusedDialog });
    if (!open && step.op === StepDialog) throw new Refused({ refused: RefusedNoDialog });
    let send: TabSend | undefined;
    try {
      send = await sessions.of(params.tab);
    } catch (error) {
      result.untrusted = message(error);
    }
    const on = new Step(this.#parties, params, step, send, result);
    await on.do();
    if (UNNOTICED.has(step.op)) delete result.untrusted;
  }

  /**
   * Waits until the page has dealt with a step: no document is on its way, none changes, and no request is
   * out that may end any moment. Then all that happened is with the host.
   */
  async #rest(
    tab: number,
    frames: readonly number[],
    since: number,
    settleMs: number,
  ): Promise<Pick<ActResult, 'dialog' | 'waiting' | 'busy'>> {
    const { sessions, activity, source } = this.#parties;
    const deadline = Date.now() + settleMs;
    const told: Pick<ActResult, 'dialog' | 'waiting' | 'busy'> = {};
    for (;;) {
      const dialog = sessions.dialog(tab);
      if (dialog !== undefined) {
        told.dialog = dialog;
        break;
      }
      if (this.#parties.paused(tab)) {
        told.waiting = ['the debugger, in which the page is paused now'];
        break;
      }
      const left = deadline - Date.now();
      if (left <= 0) {
        told.waiting = activity.loading(tab) ? ['the next page'] : activity.unended(tab, since);
        break;
      }
      if (activity.loading(tab)) {
        await activity.change(tab, left);
        continue;
      }
      const documents = activity.documents(tab);
      const quiet = Promise.all(
        [...new Set([0, ...frames])].map((frame) => this.#quiet(tab, frame, Math.min(RESTLESS_MS, left))),
      ).then(() => source.barrier(tab).catch(() => undefined));
      const interrupted = (): boolean =>
        this.#parties.paused(tab) ||
        sessions.dialog(tab) !== undefined ||
        activity.loading(tab) ||
        activity.documents(tab) !== documents;
      if (!(await this.#until(tab, quiet, interrupted, left))) {
        if (!interrupted()) told.busy = true; // the page does not answer
        if (told.busy === true) break;
        continue;
      }
      if (interrupted()) continue;
      if (activity.flights(tab, since).length === 0) {
        const unended = activity.unended(tab, since);
        if (unended.length > 0) told.waiting = unended;
        break;
      }
      await activity.change(tab, Math.min(left, 100));
    }
    if (told.dialog === undefined && told.busy !== true && !this.#parties.paused(tab))
      await this.#parties.frames.flush(tab, FLUSH_MS);
    await this.#parties.port.drained();
    return told;
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

  async #quiet(tab: number, frame: number, ms: number): Promise<void> {
    await askFrame(tab, frame, { do: 'rest', ms }).catch(() => undefined);
  }
}

function framesOf(step: ActStep): number[] {
  return (step.path ?? []).map(({ frame }) => frame);
}

/** By what a frame knows an element, and what it must still be. */
function namedBy({ document, id, role, name }: ActNode): Omit<ActAsk, 'do' | 'ms'> {
  return { document, id, ...(role !== undefined && { role }), ...(name !== undefined && { name }) };
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function askFrame(tab: number, frame: number, ask: ActAsk): Promise<ActTold> {
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

/** One step on one tab. */
class Step {
  readonly #parties: ActingParties;
  readonly #tab: number;
  readonly #step: ActStep;
  readonly #send: TabSend | undefined;
  readonly #deadline: number;

  readonly #result: ActResult;

  constructor(
    parties: ActingParties,
    { tab, timeout_ms }: ActParams,
    step: ActStep,
    send: TabSend | undefined,
    result: ActResult,
  ) {
    this.#result = result;
    this.#parties = parties;
    this.#tab = tab;
    this.#step = step;
    this.#send = send;
    this.#deadline = Date.now() + timeout_ms;
  }

  async do(): Promise<void> {
    const { op, path = [], texts = [] } = this.#step;
    switch (op) {
      case StepClick:
        return await this.#click();
      case StepHover:
        return await this.#hover();
      case StepType:
        return await this.#type(path, texts, this.#step.clear === true, this.#step.submit === true);
      case StepFill:
        return await this.#fill();
      case StepSelect: {
        await this.#ask(path, { do: 'ready', needs: { enabled: true } });
        await this.#ask(path, { do: 'choose', texts });
        return;
      }
      case StepPress:
        return await this.#press();
      case StepReady:
        await this.#ask(path, { do: 'ready', needs: { enabled: true } });
        return;
      case StepScroll:
        await this.#ask(path, { do: 'scroll', x: this.#step.x ?? 0, y: this.#step.y ?? 0 });
        return;
      case StepDrag:
        return await this.#drag();
      case StepUpload:
        return await this.#upload();
      case StepNavigate:
        return await this.#navigate(texts[0] ?? '');
      case StepDialog:
        return await this.#answerDialog();
      case StepEvaluate:
        return await this.#evaluate(texts[0] ?? '');
      case StepScreenshot:
        return await this.#screenshot();
      default:
        throw new Error(`the extension cannot do "${op}": it is older than the host`);
    }
  }

  /** Asks the frame of a path's last element; a refusal is thrown. */
  async #ask(path: readonly ActNode[], ask: Omit<ActAsk, 'ms'>): Promise<ActTold> {
    const node = path.at(-1);
    const frame = node?.frame ?? 0;
    const left = Math.max(this.#deadline - Date.now(), 1);
    const of = node === undefined ? {} : namedBy(node);
    const asked = askFrame(this.#tab, frame, {
      ...of,
      ...ask,
      ms: left,
    });
    const told = await this.#answered(asked, left + FLUSH_MS);
    if (told.refused !== undefined) {
      throw new Refused({
        refused: told.refused,
        ...(told.text !== undefined && { text: told.text }),
        ...(told.by !== undefined &&
          node !== undefined && { by: { frame, document: node.document, id: told.by } }),
      });
    }
    return told;
  }

  /** Waits for a promise, but not for ever, and not while a dialog keeps the page. */
  async #answered<T>(promise: Promise<T>, ms: number): Promise<T> {
    const { sessions, activity } = this.#parties;
    let settled = false;
    const done = promise.finally(() => {
      settled = true;
    });
    done.catch(() => undefined);
    const deadline = Date.now() + ms;
    while (!settled) {
      const left = deadline - Date.now();
      if (sessions.dialog(this.#tab) !== undefined) throw new Refused({ refused: RefusedDialog });
      if (this.#parties.paused(this.#tab)) throw new Error('the page is paused in the debugger');
      if (left <= 0) throw new Error('the page does not answer: it is busy, or hangs');
      await Promise.race([done, activity.change(this.#tab, left)]);
    }
    return await done;
  }

  /** Sends input; it is over when the page has dealt with it, or when a dialog opens, or the page is gone. */
  async #input(work: Promise<unknown>): Promise<void> {
    const { sessions, activity } = this.#parties;
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
    const deadline = Date.now() + this.#inputMs();
    const { paused } = this.#parties;
    const goesOn = (): boolean =>
      sessions.dialog(this.#tab) === undefined && !activity.loading(this.#tab) && !paused(this.#tab);
    while (!settled && goesOn()) {
      const left = deadline - Date.now();
      if (left <= 0) return; // the page has the input, and is busy with it: what it causes is waited for
      await Promise.race([done, activity.change(this.#tab, left)]);
    }
    if (failed !== undefined && !/Detached|closed|navigat|not attached/i.test(message(failed))) throw failed;
  }

  #inputMs(): number {
    return Math.max(this.#deadline - Date.now(), 200);
  }

  /** The place of an element in the tab's viewport; it is in view, and would be hit there. */
  async #point(path: readonly ActNode[], enabled: boolean): Promise<Point> {
    let { point } = await this.#ask(path, { do: 'ready', needs: { enabled, hit: true } });
    for (let i = path.length - 1; i > 0; i--) {
      ({ point } = await this.#ask(path.slice(0, i), {
        do: 'through',
        ...(point !== undefined && { point }),
      }));
    }
    if (point === undefined) throw new Refused({ refused: RefusedGone });
    return point;
  }

  async #click(): Promise<void> {
    const { path = [], button = 'left', double = false, modifiers } = this.#step;
    const bits = modifierBits(modifiers);
    const point = await this.#point(path, true);
    if (this.#send === undefined) {
      await this.#ask(path, { do: 'click', button, double, modifiers: bits });
      return;
    }
    await this.#input(click(this.#send, point, button, double ? 2 : 1, bits));
  }

  async #hover(): Promise<void> {
    const { path = [] } = this.#step;
    const point = await this.#point(path, false);
    if (this.#send === undefined) await this.#ask(path, { do: 'hover' });
    else await this.#input(hover(this.#send, point));
  }

  async #type(
    path: readonly ActNode[],
    texts: readonly string[],
    clear: boolean,
    submit: boolean,
  ): Promise<void> {
    const send = this.#send;
    for (const text of texts) {
      await this.#ask(path, { do: 'ready', needs: { enabled: true } });
      if (send === undefined) {
        const told = await this.#ask(path, { do: 'text', texts: [text], clear });
        if (told.done === true) await this.#ask(path, { do: 'fill', texts: [text] });
        if (submit) await this.#ask(path, { do: 'key', key: 'Enter' });
        continue;
      }
      const told = await this.#ask(path, { do: 'field', clear });
      if (told.done === true) await this.#ask(path, { do: 'fill', texts: [text] });
      else {
        if (told.focused !== true) {
          await this.#input(click(send, await this.#point(path, true), 'left', 1, 0));
          await this.#ask(path, { do: 'field', clear });
        }
        if (text !== '') await this.#input(type(send, text));
        else if (clear) await this.#input(press(send, readStroke('Delete')));
      }
      if (submit) await this.#input(press(send, readStroke('Enter')));
    }
  }

  /** Gives a field a value, whatever kind of field it is. */
  async #fill(): Promise<void> {
    const { path = [], texts = [] } = this.#step;
    await this.#ask(path, { do: 'ready', needs: { enabled: true } });
    const told = await this.#ask(path, { do: 'fill', texts });
    if (told.focused === false) {
      // a checkbox, radio button or switch that is not as it is to be
      await this.#click();
    } else if (told.done !== true) {
      await this.#type(path, texts, true, false);
    }
  }

  async #press(): Promise<void> {
    const { path = [], key = '' } = this.#step;
    const pressed = readStroke(key);
    if (path.length > 0) {
      await this.#ask(path, { do: 'ready', needs: { enabled: true } });
      await this.#ask(path, { do: 'focus' });
    }
    if (this.#send === undefined) {
      await this.#ask(path, { do: 'key', key: pressed.key.key, modifiers: pressed.modifiers });
    } else {
      await this.#input(stroke(this.#send, pressed));
    }
  }

  /** The debugger, for what cannot be done without. */
  #debugger(): TabSend {
    if (this.#send !== undefined) return this.#send;
    throw new Refused({ refused: RefusedDebugger, text: this.#result.untrusted ?? '' });
  }

  /** Drags by the mouse: what the page does with its pointer, or the browser's own drag and drop. */
  async #drag(): Promise<void> {
    const { path = [], to = [] } = this.#step;
    await this.#point(to, false);
    const from = await this.#point(path, true);
    const { draggable } = await this.#ask(path, { do: 'draggable' });
    const told = await this.#ask(to, { do: 'ready', needs: {} });
    if (told.point === undefined) throw new Refused({ refused: RefusedGone });
    if (this.#send === undefined) {
      await this.#ask(path, {
        do: 'drag',
        ...(to.at(-1) !== undefined && { to: (to.at(-1) as ActNode).id }),
      });
      return;
    }
    const target = to.length > 1 ? await this.#point(to, false) : told.point;
    const { sessions } = this.#parties;
    let dragged = true;
    const dragging = drag(this.#send, this.#tab, sessions, from, target, draggable === true);
    await this.#input(
      dragging.then((done) => {
        dragged = done;
      }),
    );
    const [last] = to.slice(-1);
    if (dragged || last === undefined || to.length !== path.length) return;
    this.#result.untrusted = 'the browser did not begin to drag';
    await this.#ask(path, { do: 'drag', to: last.id });
  }

  /** Gives a field files, as the file chooser that a click opens would. */
  async #upload(): Promise<void> {
    const send = this.#debugger();
    const { path = [], texts = [] } = this.#step;
    const { sessions } = this.#parties;
    const point = await this.#point(path, true);
    await send('Page.setInterceptFileChooserDialog', { enabled: true });
    try {
      const opened = new Promise<{ backendNodeId?: number; mode: string }>((resolve) => {
        sessions.listen(this.#tab, (method, params) => {
          if (method === 'Page.fileChooserOpened')
            resolve(params as { backendNodeId?: number; mode: string });
        });
      });
      await this.#input(click(send, point, 'left', 1, 0));
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<undefined>((resolve) => {
        timer = setTimeout(resolve, this.#inputMs(), undefined);
      });
      const chooser = await Promise.race([opened, late]);
      clearTimeout(timer);
      if (chooser?.backendNodeId === undefined) throw new Refused({ refused: RefusedChooser });
      if (texts.length > 1 && chooser.mode !== 'selectMultiple') {
        throw new Refused({ refused: RefusedOption, text: 'one file only' });
      }
      await send('DOM.setFileInputFiles', { files: [...texts], backendNodeId: chooser.backendNodeId });
    } finally {
      sessions.listen(this.#tab, undefined);
      await send('Page.setInterceptFileChooserDialog', { enabled: false }).catch(() => undefined);
    }
  }

  async #navigate(to: string): Promise<void> {
    const { activity, sessions } = this.#parties;
    const tab = this.#tab;
    const documents = activity.documents(tab);
    const began = activity.navigations(tab);
    let failed: unknown;
    const asked = (
      to === 'back'
        ? chrome.tabs.goBack(tab)
        : to === 'forward'
          ? chrome.tabs.goForward(tab)
          : to === 'reload'
            ? chrome.tabs.reload(tab)
            : chrome.tabs.update(tab, { url: to })
    ).catch((error: unknown) => {
      failed = error;
      activity.changed(tab);
    });
    // A page asks before it is left, or the address differs in its fragment alone: then nothing is loaded.
    while (
      failed === undefined &&
      activity.documents(tab) === documents &&
      activity.navigations(tab) === began
    ) {
      const left = this.#deadline - Date.now();
      if (left <= 0 || sessions.dialog(tab) !== undefined) return;
      await activity.change(tab, left);
    }
    if (failed !== undefined) throw new Refused({ refused: RefusedFailed, text: message(failed) });
    void asked;
  }

  async #answerDialog(): Promise<void> {
    const { accept = false, texts } = this.#step;
    const [promptText] = texts ?? [];
    await this.#debugger()('Page.handleJavaScriptDialog', {
      accept,
      ...(promptText !== undefined && { promptText }),
    });
    const { sessions, activity } = this.#parties;
    for (let left = this.#inputMs(); sessions.dialog(this.#tab) !== undefined && left > 0; ) {
      const began = Date.now();
      await activity.change(this.#tab, left);
      left -= Date.now() - began;
    }
  }

  async #evaluate(expression: string): Promise<void> {
    const evaluated = this.#debugger()('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    const { result, exceptionDetails } = await this.#answered(evaluated, this.#inputMs());
    if (exceptionDetails !== undefined) {
      const { exception, text } = exceptionDetails;
      throw new Refused({ refused: RefusedFailed, text: exception?.description ?? text });
    }
    this.#result.value = (JSON.stringify(result.value) ?? result.description ?? 'undefined').slice(
      0,
      MAX_VALUE,
    );
  }

  /** A picture, small enough for an agent to pay for; what is secret on the page is shown as dots. */
  async #screenshot(): Promise<void> {
    const send = this.#debugger();
    const { path = [], full = false } = this.#step;
    if (path.length > 0) await this.#ask(path, { do: 'ready', needs: {} });
    const { cssLayoutViewport: view, cssContentSize: content } = await this.#answered(
      send('Page.getLayoutMetrics'),
      this.#inputMs(),
    );
    let area = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight };
    if (full) area = { x: 0, y: 0, width: content.width, height: Math.min(content.height, MAX_PAGE) };
    if (path.length > 0) {
      const { box } = await this.#ask(path, { do: 'box' });
      if (box === undefined || path.length > 1)
        throw new Refused({ refused: RefusedKind, text: 'in the top frame' });
      area = { ...box, x: box.x + view.pageX, y: box.y + view.pageY };
    }
    const scale = Math.min(1, MAX_SIDE / Math.max(area.width, area.height));
    await this.#ask([], { do: 'veil' });
    try {
      const { data } = await this.#answered(
        send('Page.captureScreenshot', {
          format: 'jpeg',
          quality: 75,
          captureBeyondViewport: full || path.length > 0,
          clip: { ...area, scale },
        }),
        this.#inputMs() + SHOT_MS,
      );
      this.#result.image = data;
      this.#result.mime = 'image/jpeg';
    } finally {
      await this.#ask([], { do: 'unveil' }).catch(() => undefined);
    }
  }
}
