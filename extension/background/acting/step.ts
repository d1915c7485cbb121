/** Does one step on one tab. */

import type { Protocol } from 'devtools-protocol';
import { cutWhole } from '../../cut';
import type { ActAsk, ActTold, Box, Point } from '../../messages';
import {
  type ActNode,
  type ActParams,
  type ActResult,
  type ActStep,
  RefusedChooser,
  RefusedCode,
  RefusedDebugger,
  RefusedDialog,
  RefusedFailed,
  RefusedGone,
  RefusedLoad,
  RefusedMoving,
  RefusedOption,
  RefusedOutside,
  StepClick,
  StepDialog,
  StepDrag,
  StepEvaluate,
  StepFill,
  StepHover,
  StepNavigate,
  StepPress,
  StepReady,
  StepScreenshot,
  StepScroll,
  StepSelect,
  StepType,
  StepUpload,
} from '../../protocol';
import { watchableOrigin } from '../rules';
import { askFrame, message, namedBy, Refused } from './ask';
import { inPage, isUnread, thrown } from './in-page';
import { click, drag, hover, press, stroke, type } from './input';
import { modifierBits, readStroke } from './keys';
import type { ActingParties } from './parties';
import { FLUSH_MS } from './rest';
import type { TabSend } from './sessions';

/** Limits of what is answered: characters of a value, CSS pixels of a page's picture, pixels of its side. */
const MAX_VALUE = 20_000;
const MAX_PAGE = 6000;
const MAX_SIDE = 1024;
/** How long the browser may take to draw a picture, in ms. */
const SHOT_MS = 5000;
/** How long before the time is over an agent's code is ended, in ms. */
const ENDING_MS = 500;
const NOT_IN_TIME = 'it did not end in time';
const MUTE = 'the page does not answer: it is busy, or hangs';
/** How long a page may take to be left, and then to answer at all, in ms. */
const LEAVING_MS = 1000;
const HANGING_MS = 3000;
const HANGS =
  'the one that is open hangs (a script in it runs on and on) and cannot be left; close its tab and open another one (browser_tabs)';
/** How often a click is tried that something else got into the way of. */
const MOST_TRIES = 3;
/** What is needed of an element that takes no pointer. */
const ENABLED = { enabled: true } as const;

export class Step {
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
        return await this.#type(path, texts, {
          clear: this.#step.clear === true,
          submit: this.#step.submit === true,
          byKeys: true,
        });
      case StepFill:
        return await this.#fill();
      case StepSelect:
        await this.#ask(path, { do: 'choose', needs: ENABLED, texts });
        return;
      case StepPress:
        return await this.#press();
      case StepReady:
        await this.#ask(path, { do: 'ready', needs: { ...ENABLED, still: true } });
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
        return await this.#evaluate(path, texts[0] ?? '');
      case StepScreenshot:
        return await this.#screenshot();
      default:
        throw new Error(`the extension cannot do "${op}": it is older than the host`);
    }
  }

  /** Asks the frame of a path's last element; a refusal is thrown. */
  async #ask(path: readonly ActNode[], ask: Omit<ActAsk, 'ms'> & { ms?: number }): Promise<ActTold> {
    const node = path.at(-1);
    const frame = node?.frame ?? 0;
    const left = Math.max(this.#deadline - Date.now(), 1);
    const of = node === undefined ? {} : namedBy(node);
    const asked = askFrame(this.#tab, frame, {
      ...of,
      ms: left,
      ...ask,
    });
    const { activity } = this.#parties;
    const documents = activity.documents(this.#tab);
    const told = await this.#answered(asked, left + FLUSH_MS, () => {
      // Its document never answers any more.
      if (activity.documents(this.#tab) !== documents) throw new Refused({ refused: RefusedGone });
    });
    if (told.refused !== undefined) {
      throw new Refused({
        refused: told.refused,
        ...(told.text !== undefined && { text: told.text }),
        ...(told.by !== undefined &&
          node !== undefined && { by: { frame, document: node.document, id: told.by } }),
      });
    }
    if (told.since !== undefined) this.#result.began ??= told.since;
    return told;
  }

  /** Waits for a promise, but not for ever, and not while a dialog keeps the page. */
  async #answered<T>(
    promise: Promise<T>,
    ms: number,
    look = (): void => undefined,
    late: Error = new Refused({ refused: RefusedFailed, text: MUTE, busy: true }),
  ): Promise<T> {
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
      look();
      if (left <= 0) throw late;
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
  async #point(path: readonly ActNode[], enabled: boolean, guard = false): Promise<Point> {
    for (;;) {
      let { point, moved: moves = false } = await this.#ask(path, {
        do: 'ready',
        needs: { enabled, hit: true },
        guard,
      });
      for (let i = path.length - 1; i > 0; i--) {
        const outer = await this.#ask(path.slice(0, i), {
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

  async #click(): Promise<void> {
    const { path = [], button = 'left', double = false, modifiers } = this.#step;
    const bits = modifierBits(modifiers);
    if (this.#send === undefined) {
      await this.#point(path, true);
      await this.#ask(path, { do: 'click', button, double, modifiers: bits });
      return;
    }
    await this.#strike(this.#send, path, button, double ? 2 : 1, bits);
  }

  /** Clicks on an element, and on nothing else: what comes under the pointer in its place gets nothing of it. */
  async #strike(
    send: TabSend,
    path: readonly ActNode[],
    button: string,
    count: number,
    modifiers: number,
  ): Promise<void> {
    for (let tried = 1; ; tried++) {
      const point = await this.#point(path, true, true);
      await this.#input(click(send, point, button, count, modifiers));
      const missed = await this.#missed(path);
      if (missed === undefined) return;
      if (tried === MOST_TRIES || Date.now() >= this.#deadline) throw missed;
    }
  }

  /** Why a click did not get to its element; undefined when it did, or when nobody can say any longer. */
  async #missed(path: readonly ActNode[]): Promise<Refused | undefined> {
    const { sessions, activity, paused } = this.#parties;
    const tab = this.#tab;
    if (sessions.dialog(tab) !== undefined || activity.loading(tab) || paused(tab)) return undefined;
    const asked = path.map(async ({ frame, document }): Promise<Refused | undefined> => {
      const told = await askFrame(tab, frame, { do: 'struck', document, ms: 0 });
      if (told.refused === undefined) return undefined;
      return new Refused({
        refused: told.refused,
        ...(told.text !== undefined && { text: told.text }),
        ...(told.by !== undefined && { by: { frame, document, id: told.by } }),
      });
    });
    // A page that is left, or busy with the click, has got it.
    const all = await this.#answered(Promise.all(asked), this.#inputMs()).catch(() => []);
    return all.find((missed) => missed !== undefined);
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
    { clear, submit, byKeys }: { clear: boolean; submit: boolean; byKeys: boolean },
  ): Promise<void> {
    const send = this.#send;
    for (const text of texts) {
      if (send === undefined) {
        const told = await this.#ask(path, { do: 'text', needs: ENABLED, texts: [text], clear });
        if (told.done === true) await this.#ask(path, { do: 'fill', texts: [text] });
        if (submit) await this.#ask(path, { do: 'key', key: 'Enter' });
        continue;
      }
      const told = await this.#ask(path, { do: 'field', needs: ENABLED, clear, texts: [text] });
      // The browser takes input in the order in which it is sent.
      const input: Promise<unknown>[] = [];
      if (told.done === true) await this.#ask(path, { do: 'fill', texts: [text] });
      else {
        if (told.focused !== true) {
          await this.#strike(send, path, 'left', 1, 0);
          const { elsewhere } = await this.#ask(path, { do: 'field', clear, texts: [text] });
          if (elsewhere !== undefined) {
            const text = `what is typed would not go there, because the page gives the focus to ${elsewhere}`;
            throw new Refused({ refused: RefusedFailed, text });
          }
        }
        if (text !== '') input.push(type(send, text, byKeys && told.line === true));
        else if (clear) input.push(press(send, readStroke('Delete')));
      }
      if (submit) input.push(press(send, readStroke('Enter')));
      await this.#input(Promise.all(input));
    }
  }

  /** Gives a field a value, whatever kind of field it is. */
  async #fill(): Promise<void> {
    const { path = [], texts = [] } = this.#step;
    const told = await this.#ask(path, { do: 'fill', needs: ENABLED, texts });
    if (told.focused === false) {
      // a checkbox, radio button or switch that is not as it is to be
      await this.#click();
    } else if (told.done !== true) {
      await this.#type(path, texts, { clear: true, submit: false, byKeys: false });
    }
  }

  async #press(): Promise<void> {
    const { path = [], key = '' } = this.#step;
    const pressed = readStroke(key);
    // A page that does not answer would take the key some time later.
    await this.#ask(path, { do: 'focus', needs: ENABLED });
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
    const told = await this.#ask(to, { do: 'ready', needs: { still: true } });
    if (told.point === undefined) throw new Refused({ refused: RefusedGone });
    if (this.#send === undefined) {
      await this.#ask(path, {
        do: 'drag',
        ...(to.at(-1) !== undefined && { to: (to.at(-1) as ActNode).id }),
      });
      return;
    }
    const target = async (): Promise<Point> => {
      if (to.length > 1) return await this.#point(to, false);
      const { point } = await this.#ask(to, { do: 'ready', needs: { still: true } });
      return point ?? first;
    };
    const first = to.length > 1 ? await this.#point(to, false) : told.point;
    const { sessions } = this.#parties;
    let dragged = true;
    const dragging = drag(this.#send, this.#tab, sessions, from, first, target, draggable === true);
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
    await send('Page.setInterceptFileChooserDialog', { enabled: true });
    try {
      const opened = new Promise<{ backendNodeId?: number; mode: string }>((resolve) => {
        sessions.listen(this.#tab, (method, params) => {
          if (method === 'Page.fileChooserOpened')
            resolve(params as { backendNodeId?: number; mode: string });
        });
      });
      await this.#strike(send, path, 'left', 1, 0);
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
    const entryId = to === 'back' || to === 'forward' ? await this.#historyEntry(to) : undefined;
    const documents = activity.documents(tab);
    const began = activity.navigations(tab);
    let failed: unknown;
    const asked: Promise<unknown> = (
      entryId !== undefined && this.#send !== undefined
        ? this.#send('Page.navigateToHistoryEntry', { entryId })
        : to === 'back'
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
    let deadline = Date.now() + LEAVING_MS;
    let asking = false;
    let answers = false;
    const answered = (): void => {
      answers = true;
      activity.changed(tab);
    };
    while (
      failed === undefined &&
      !answers &&
      sessions.dialog(tab) === undefined &&
      activity.documents(tab) === documents &&
      (activity.navigations(tab) === began || activity.loading(tab))
    ) {
      const left = deadline - Date.now();
      if (left > 0) await activity.change(tab, left);
      else if (asking) throw new Refused({ refused: RefusedLoad, text: HANGS, busy: true });
      else {
        // The browser leaves no page that does not answer; one that does is on its way, or stays where it is.
        asking = true;
        deadline = Date.now() + HANGING_MS;
        askFrame(tab, 0, { do: 'rest', ms: 0 }).then(answered, answered);
      }
    }
    if (failed !== undefined) throw new Refused({ refused: RefusedFailed, text: message(failed) });
    void asked;
  }

  /**
   * The entry before or after this one in the tab's history. The browser's own button passes over pages on which
   * no person did anything, which an agent's are. Refused where it is no web page, on which nobody could act.
   */
  async #historyEntry(to: 'back' | 'forward'): Promise<number | undefined> {
    if (this.#send === undefined) return undefined;
    const { currentIndex, entries } = await this.#send('Page.getNavigationHistory');
    const entry = entries[currentIndex + (to === 'back' ? -1 : 1)];
    if (entry !== undefined && watchableOrigin(entry.url) !== undefined) return entry.id;
    throw new Refused({ refused: RefusedFailed, text: `there is no web page to go ${to} to in this tab` });
  }

  async #answerDialog(): Promise<void> {
    const { accept = false, texts } = this.#step;
    const { sessions, activity } = this.#parties;
    const promptText = texts?.[0] ?? sessions.dialog(this.#tab)?.default;
    await this.#debugger()('Page.handleJavaScriptDialog', {
      accept,
      ...(promptText !== undefined && { promptText }),
    });
    for (let left = this.#inputMs(); sessions.dialog(this.#tab) !== undefined && left > 0; ) {
      const began = Date.now();
      await activity.change(this.#tab, left);
      left -= Date.now() - began;
    }
  }

  async #evaluate(path: readonly ActNode[], expression: string): Promise<void> {
    const how = { awaitPromise: true, returnByValue: true, userGesture: true } as const;
    let send = this.#debugger();
    const evaluate = async (): Promise<Protocol.Runtime.EvaluateResponse> => {
      if (path.length === 0) {
        const timeout = this.#inputMs() - ENDING_MS;
        const answer = await send('Runtime.evaluate', { expression, ...how, timeout });
        if (answer.result.type !== 'function') return answer;
        return await send('Runtime.evaluate', { expression: `(${expression}\n)()`, ...how, timeout });
      }
      const call = async (node: readonly ActNode[], key: string): Promise<void> => {
        await this.#ask(node, { do: 'call', key });
      };
      const found = await inPage(this.#parties.sessions, this.#tab, send, path, call);
      const { objectId } = found;
      send = found.send;
      return await send('Runtime.callFunctionOn', {
        objectId,
        functionDeclaration: `function (element) { const value = (${expression}\n); return typeof value === 'function' ? value.call(this, element) : value }`,
        arguments: [{ objectId }],
        ...how,
      });
    };
    let response: Protocol.Runtime.EvaluateResponse;
    try {
      response = await this.#answered(evaluate(), this.#inputMs(), undefined, new Error(NOT_IN_TIME));
    } catch (error) {
      if (this.#parties.sessions.dialog(this.#tab) !== undefined) return; // that the code has opened, and waits for
      if (error instanceof Refused) throw error;
      const why = this.#inputMs() <= ENDING_MS ? NOT_IN_TIME : message(error);
      throw new Refused({ refused: RefusedCode, text: `came to no value: ${why}` });
    }
    const { result, exceptionDetails } = response;
    if (exceptionDetails !== undefined) {
      const text = cutWhole(await thrown(send, exceptionDetails), MAX_VALUE);
      if (isUnread(exceptionDetails)) throw new Refused({ refused: RefusedFailed, text });
      throw new Refused({ refused: RefusedCode, text: `threw ${text}` });
    }
    this.#result.value = cutWhole(
      JSON.stringify(result.value) ?? result.description ?? 'undefined',
      MAX_VALUE,
    );
  }

  /** A picture, small enough for an agent to pay for; what is secret on the page is shown as dots. */
  async #screenshot(): Promise<void> {
    const send = this.#debugger();
    const { path = [], full = false } = this.#step;
    for (let i = 1; i <= path.length; i++) {
      await this.#ask(path.slice(0, i), { do: 'ready', needs: { still: true } });
    }
    const { cssLayoutViewport: view, cssContentSize: content } = await this.#answered(
      send('Page.getLayoutMetrics'),
      this.#inputMs(),
    );
    let area = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight };
    let beyond = full;
    if (full) area = { x: 0, y: 0, width: content.width, height: Math.min(content.height, MAX_PAGE) };
    if (path.length > 0) {
      const { x, y, width, height } = await this.#box(path);
      if (width < 1 || height < 1) throw new Refused({ refused: RefusedOutside });
      area = { x: x + view.pageX, y: y + view.pageY, width, height };
      beyond = x < 0 || y < 0 || x + width > view.clientWidth || y + height > view.clientHeight;
    }
    const scale = Math.min(1, MAX_SIDE / Math.max(area.width, area.height));
    await this.#veil('veil');
    try {
      const { data } = await this.#answered(
        send('Page.captureScreenshot', {
          format: 'jpeg',
          quality: 75,
          captureBeyondViewport: beyond,
          clip: { ...area, scale },
        }),
        this.#inputMs() + SHOT_MS,
      );
      this.#result.image = data;
      this.#result.mime = 'image/jpeg';
    } finally {
      await this.#veil('unveil');
    }
  }

  /** The part of the tab's viewport in which an element is shown. */
  async #box(path: readonly ActNode[]): Promise<Box> {
    let { box } = await this.#ask(path, { do: 'box' });
    for (let i = path.length - 1; i > 0; i--) {
      ({ box } = await this.#ask(path.slice(0, i), { do: 'box', ...(box !== undefined && { box }) }));
    }
    if (box === undefined) throw new Refused({ refused: RefusedGone });
    return box;
  }

  /** Veils what is secret in every frame that is watched, or takes that back. */
  async #veil(what: 'veil' | 'unveil'): Promise<void> {
    const frames = new Set([0, ...this.#parties.frames.frames(this.#tab)]);
    const asked = [...frames].map((frame) =>
      askFrame(this.#tab, frame, { do: what, ms: FLUSH_MS }).catch(() => undefined),
    );
    await this.#answered(Promise.all(asked), this.#inputMs());
  }
}
