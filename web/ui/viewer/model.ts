/** What the viewer shows, and what a person does with it: signals that components read, and nothing of the DOM. */
import {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from '@preact/signals';
import type {
  Finding,
  ViewCheckpoints,
  ViewHidden,
  ViewOverview,
  ViewReport,
  ViewTab,
  ViewTimeline,
} from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { words } from '../attempt';
import type { ViewerClient } from '../client';
import { ignoreParams } from '../finding';
import { ConversationModel } from './conversation/model';
import { moment as instant } from './format';
import { MomentsModel } from './moments/model';
import { TimelineData } from './timeline/data';
import type { Span } from './timeline/draw';

/** The two moments that are compared: a checkpoint's name, a time, `start` or `now`. */
export interface Selection {
  from: string;
  to: string;
}

/** The least severity that is shown. */
export type Least = 'all' | 'warnings' | 'errors_only';

/** What the middle shows. */
export type Section = 'changes' | 'events' | 'moments' | 'calls' | 'page' | 'variables' | 'conversation';

/** A word to the person: what was done, or why it was not. */
export interface Notice {
  text: string;
  failed: boolean;
  /** What takes it back, and its name. */
  undo?: { label: string; run: () => Promise<void> };
}

/** How long a question for what is new waits in the host, and how long at least lies between two, in ms. */
const WAIT_MS = 8000;
const PACE_MS = 60;
/** How long lies between two readings of a report that goes on, in ms. */
const REPORT_MS = 100;
/** How much longer it rests than a reading takes. */
const REPORT_SHARE = 3;
const RETRY_MS = 800;

/** Everything behind one viewer. `stop` ends what it has under way. */
export class ViewerModel {
  readonly client: ViewerClient;
  /** The host's number of the tab that is shown, 0 for all. */
  readonly tab: Signal<number> = signal(0);
  readonly section: Signal<Section> = signal('changes');
  readonly overview: Signal<ViewOverview | undefined> = signal(undefined);
  readonly checkpoints: Signal<ViewCheckpoints | undefined> = signal(undefined);
  /** Undefined until a person chooses: then what is new since the newest checkpoint is shown. */
  readonly chosen: Signal<Selection | undefined> = signal(undefined);
  /** A second report beside the first; undefined for none. */
  readonly beside: Signal<Selection | undefined> = signal(undefined);
  readonly report: Signal<ViewReport | undefined> = signal(undefined);
  readonly besideReport: Signal<ViewReport | undefined> = signal(undefined);
  /** Why there is no report, in words. */
  readonly problem: Signal<string> = signal('');
  readonly hidden: Signal<ViewHidden | undefined> = signal(undefined);
  readonly notice: Signal<Notice | undefined> = signal(undefined);
  readonly least: Signal<Least> = signal('all');
  readonly text: Signal<string> = signal('');
  /** Lanes that are not shown. */
  readonly without: Signal<ReadonlySet<string>> = signal(new Set());
  readonly data = new TimelineData();
  readonly moments: MomentsModel;
  readonly conversation: ConversationModel;
  /** The names of the lanes, from top to bottom. */
  readonly lanes: Signal<readonly string[]> = signal(this.data.names);
  /** Grows whenever {@link data} has changed. */
  readonly drawn: Signal<number> = signal(0);
  /** The host and its data are there. */
  readonly ready: Signal<boolean> = signal(false);
  /** All of it is shown for the first time. */
  readonly complete: ReadonlySignal<boolean> = computed(
    () => this.ready.value && this.report.value !== undefined,
  );

  #stopped = false;
  #round = 0;
  #reportTimer: ReturnType<typeof setTimeout> | undefined;
  #reportAt = 0;
  #reportTook = 0;
  /** Questions for a report so far, and which of them was answered last. */
  #asked = 0;
  #answered = 0;
  readonly #stops: (() => void)[] = [];
  /** The tab of the page is looked for once. */
  #placed = false;

  constructor(client: ViewerClient) {
    this.client = client;
    this.moments = new MomentsModel(client.ask, this.data, this.notice);
    this.conversation = new ConversationModel(client.ask, this.data);
    let connected = false;
    this.#stops.push(
      effect(() => {
        const now = client.connection.value.state === 'connected';
        if (now === connected) return;
        connected = now;
        if (now) void this.#begin();
        else this.#round++;
      }),
      effect(() => {
        const session = this.moments.chosen.value;
        if (session !== '') untracked(() => void this.#readConversation(session));
      }),
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#round++;
    clearTimeout(this.#reportTimer);
    for (const end of this.#stops) end();
  }

  /** What is compared: what a person chose, else what is new since the newest checkpoint. */
  readonly selection: ReadonlySignal<Selection> = computed(
    () => this.chosen.value ?? { from: this.since.value, to: 'now' },
  );

  /** The moment since which it is told how it stands: the newest checkpoint of all that is shown, or the start. */
  readonly since: ReadonlySignal<string> = computed(() => this.checkpoints.value?.since ?? 'start');

  readonly shownTab: ReadonlySignal<ViewTab | undefined> = computed(() =>
    this.overview.value?.tabs.find(({ id }) => id === this.tab.value),
  );

  /** The moments of the selection in ms; undefined where one is not known. */
  readonly range: ReadonlySignal<Span | undefined> = computed(() => {
    void this.drawn.value;
    const { from, to } = this.selection.value;
    const [begin, end] = [this.timeOf(from), this.timeOf(to)];
    return begin === undefined || end === undefined ? undefined : { from: begin, to: end };
  });

  /** When a moment is, in ms. */
  timeOf(moment: string): number | undefined {
    if (moment === 'now') return this.data.now || undefined;
    if (moment === 'start') return Math.min(this.data.start, this.data.first) || undefined;
    const checkpoint = this.checkpoints.value?.checkpoints.find((one) => one.moment === moment);
    if (checkpoint !== undefined) return checkpoint.at;
    const time = Date.parse(moment);
    return Number.isNaN(time) ? undefined : time;
  }

  /** How a moment is called. */
  nameOf(moment: string): string {
    if (moment === 'now') return t('now');
    if (moment === 'start') return t('start');
    const time = /^\d{4}-/.test(moment) ? Date.parse(moment) : Number.NaN;
    if (Number.isNaN(time)) return moment.replace(/@(.*)$/, ' ($1)'); // one of several of that name
    return instant(time);
  }

  async #begin(): Promise<void> {
    const round = ++this.#round;
    const current = (): boolean => !this.#stopped && round === this.#round;
    while (current()) {
      try {
        await this.#place();
        // The marks are read before what they speak of: what changes in between shows in the next ones.
        if (current()) await this.#take(current);
        if (current()) await this.#refresh();
        if (current()) await this.#follow(current);
      } catch (error) {
        if (!current()) return;
        if (await this.#tabIsGone()) {
          this.notice.value = { text: t('tabGone'), failed: true };
          this.showTab(0);
          return;
        }
        this.problem.value = words(error);
        await pause(RETRY_MS);
      }
    }
  }

  /** Finds the page's own tab once. */
  async #place(): Promise<void> {
    const { tab } = this.client;
    if (this.#placed || tab === undefined) return;
    const { tabs } = await this.client.ask('view_overview', {});
    const own = tabs.find(({ own, browser_id }) => own && browser_id === tab);
    if (own === undefined || this.#placed) return;
    this.#placed = true;
    this.tab.value = own.id;
  }

  /** The tab as a parameter; absent for all. */
  #at(): { tab?: number } {
    return this.tab.value === 0 ? {} : { tab: this.tab.value };
  }

  /** Reads what is new on the timeline, waiting for it so long; says what it was. */
  async #take(current: () => boolean, waitMs = 0): Promise<ViewTimeline | undefined> {
    const answer = await this.client.ask('view_timeline', {
      ...this.#at(),
      after: this.data.next,
      marks: this.data.marks,
      wait_ms: waitMs,
    });
    // Where positions began anew, everything is read once more.
    if (!current() || !this.data.take(answer)) return undefined;
    batch(() => {
      this.ready.value = true;
      this.lanes.value = this.data.names;
      this.drawn.value++;
    });
    return answer;
  }

  /** Reads on for as long as the connection lasts. */
  async #follow(current: () => boolean): Promise<void> {
    while (current()) {
      const { marks } = this.data;
      const answer = await this.#take(current, WAIT_MS);
      if (answer === undefined) continue;
      if (answer.marks !== marks) await this.#refresh();
      else if (answer.lanes.length > 0 && this.selection.value.to === 'now') this.#readSoon();
      if (!answer.more) await pause(PACE_MS);
    }
  }

  /** Asks for everything that is no event. */
  async #refresh(): Promise<void> {
    const at = this.#at();
    const [overview, checkpoints] = await Promise.all([
      this.client.ask('view_overview', at),
      this.client.ask('view_checkpoints', at),
      this.#read(),
    ]);
    // Opening a workspace can take a while, for which nothing else waits.
    void this.moments.refresh().then(async () => {
      this.#drew();
      await this.#readConversation(this.moments.chosen.value);
    });
    batch(() => {
      this.overview.value = overview;
      this.checkpoints.value = checkpoints;
      this.#drew();
      this.#forgetGone();
    });
  }

  async #readConversation(session: string): Promise<void> {
    await this.conversation.refresh(session);
    this.#drew();
  }

  /** Has the timeline drawn again. */
  #drew(): void {
    batch(() => {
      this.lanes.value = this.data.names;
      this.drawn.value++;
    });
  }

  /** Whether the tab that is shown is no longer there. */
  async #tabIsGone(): Promise<boolean> {
    const shown = this.tab.value;
    if (shown === 0) return false;
    try {
      const { tabs } = await this.client.ask('view_overview', {});
      return tabs.every(({ id }) => id !== shown);
    } catch {
      return false; // nobody can say
    }
  }

  /** A selection of what is no longer there goes back to what is. */
  #forgetGone(): void {
    const known = (moment: string): boolean =>
      this.timeOf(moment) !== undefined || moment === 'start' || moment === 'now';
    const { chosen, beside } = this;
    if (chosen.value !== undefined && !(known(chosen.value.from) && known(chosen.value.to)))
      chosen.value = undefined;
    if (beside.value !== undefined && !(known(beside.value.from) && known(beside.value.to)))
      beside.value = undefined;
  }

  /** Reads the report at once, or soon when it was read just now: the rarer, the longer that takes. */
  #readSoon(): void {
    if (this.#reportTimer !== undefined) return;
    const rest = Math.max(REPORT_MS, REPORT_SHARE * this.#reportTook);
    const wait = Math.max(0, this.#reportAt + rest - Date.now());
    this.#reportTimer = setTimeout(() => {
      this.#reportTimer = undefined;
      void Promise.all([this.#read(), this.#readSpans()]);
    }, wait);
  }

  /** The span since the newest checkpoint in the list goes on, too. */
  async #readSpans(): Promise<void> {
    try {
      this.checkpoints.value = await this.client.ask('view_checkpoints', this.#at());
    } catch {
      // The connection went away; it is told by itself, and everything is read again with the next one.
    }
  }

  async #read(): Promise<void> {
    this.#reportAt = Date.now();
    const turn = ++this.#asked;
    const chosen = this.chosen.value;
    const beside = this.beside.value;
    const tab = this.tab.value;
    const common = { ...this.#at(), severity: this.least.value };
    try {
      const [report, other] = await Promise.all([
        // Without a beginning the host takes the newest checkpoint.
        this.client.ask('view_report', { ...(chosen ?? { to: 'now' }), ...common }),
        beside === undefined ? undefined : this.client.ask('view_report', { ...beside, ...common }),
      ]);
      // Another one was chosen meanwhile, or the answer to a later question was sooner.
      if (this.tab.value !== tab || this.chosen.value !== chosen || turn < this.#answered) return;
      this.#answered = turn;
      this.#reportTook = Date.now() - this.#reportAt;
      batch(() => {
        this.report.value = report;
        this.besideReport.value = other;
        this.problem.value = '';
      });
    } catch (error) {
      if (this.client.connection.value.state !== 'connected' || this.tab.value !== tab) return;
      batch(() => {
        this.problem.value = words(error);
        this.report.value = undefined; // it speaks of other moments
      });
    }
  }

  /** Shows another tab; 0 is all. */
  showTab(tab: number): void {
    if (tab === this.tab.value) return;
    this.#placed = true;
    batch(() => {
      this.tab.value = tab;
      this.chosen.value = undefined;
      this.beside.value = undefined;
      this.report.value = undefined; // it speaks of the tab before
      this.data.clear();
      this.drawn.value++;
    });
    void this.#begin();
  }

  /** Compares two moments; undefined goes back to what is new since the newest checkpoint. */
  select(selection: Selection | undefined, beside?: Selection): void {
    batch(() => {
      this.chosen.value = selection && this.#inOrder(selection);
      this.beside.value = beside;
      this.hidden.value = undefined;
      if (this.section.value !== 'events') this.section.value = 'changes';
    });
    void this.#read();
  }

  /** The earlier of two moments first. */
  #inOrder({ from, to }: Selection): Selection {
    const [begin, end] = [this.timeOf(from), this.timeOf(to)];
    return begin !== undefined && end !== undefined && begin > end ? { from: to, to: from } : { from, to };
  }

  /** Compares what happened up to a checkpoint with the one before it. */
  selectUntil(moment: string): void {
    this.select(this.until(moment));
  }

  /** What happened up to a checkpoint since the one before it. */
  until(moment: string): Selection {
    const list = this.checkpoints.value?.checkpoints ?? [];
    const index = list.findIndex((checkpoint) => checkpoint.moment === moment);
    return { from: list[index - 1]?.moment ?? 'start', to: moment };
  }

  /** Selects a range of time, as brushed. */
  selectSpan({ from, to }: Span): void {
    const last = this.data.now;
    this.select({ from: iso(from), to: to >= last ? 'now' : iso(to) });
  }

  /** Shows a moment, opened, among the others of its session. */
  async openMoment(moment: string): Promise<void> {
    batch(() => {
      this.section.value = 'moments';
      this.text.value = ''; // it would hide what does not match
    });
    await this.#said(() => this.moments.open(moment));
    this.#drew();
  }

  setLeast(least: Least): void {
    this.least.value = least;
    void this.#read();
  }

  /** Sets a checkpoint; rejects with the reason in words. */
  async createCheckpoint(name: string, note: string): Promise<void> {
    await this.#change(async () => {
      const made = await this.client.ask('view_checkpoint_create', {
        name,
        ...(note !== '' && { note }),
        ...this.#at(),
      });
      this.notice.value = {
        text:
          made.replaced === undefined
            ? t('checkpointSet', name)
            : t('checkpointReplaced', name, instant(Date.parse(made.replaced))),
        failed: false,
      };
    });
  }

  /** Gives a checkpoint another name; rejects with the reason in words. */
  async renameCheckpoint(name: string, to: string): Promise<void> {
    await this.#change(async () => {
      await this.client.ask('view_checkpoint_rename', {
        name,
        to,
        ...this.#at(),
      });
      const renamed = (moment: string): string => (moment === name ? name.replace(/^[^@]*/, to) : moment);
      const chosen = this.chosen.value;
      if (chosen !== undefined) this.chosen.value = { from: renamed(chosen.from), to: renamed(chosen.to) };
    });
  }

  async deleteCheckpoint(name: string): Promise<void> {
    await this.#do(async () => {
      await this.client.ask('view_checkpoint_delete', {
        name,
        ...this.#at(),
      });
      this.notice.value = { text: t('checkpointDeleted', this.nameOf(name)), failed: false };
    });
  }

  /** What is said of a finding is noise from now on. */
  async ignore(finding: Finding): Promise<void> {
    await this.#do(async () => {
      const { id, hides } = await this.client.ask('view_ignore', {
        ...ignoreParams(finding),
        ...this.#at(),
      });
      this.notice.value = {
        text: many('ignored', hides),
        failed: false,
        undo: { label: t('undo'), run: () => this.unignore(id) },
      };
    });
  }

  async unignore(rule: string): Promise<void> {
    await this.#do(async () => {
      await this.client.ask('view_unignore', { id: rule });
      this.notice.value = { text: t('shownAgain'), failed: false };
    });
    if (this.hidden.value !== undefined) await this.explainHidden();
  }

  /** Asks what noise rules keep out of the report that is shown. */
  async explainHidden(): Promise<void> {
    await this.#said(async () => {
      const { from, to } = this.selection.value;
      this.hidden.value = await this.client.ask('view_hidden', {
        from,
        to,
        ...this.#at(),
      });
    });
  }

  async hold(agent: number, held: boolean): Promise<void> {
    await this.#do(async () => {
      await this.client.ask('view_hold', { agent, held });
    });
  }

  /** Does something, and reads again what it may have changed. */
  async #change(what: () => Promise<void>): Promise<void> {
    await what();
    await this.#refresh();
  }

  /** Says why something failed, where there is no place of its own to say it. */
  async #said(what: () => Promise<void>): Promise<void> {
    try {
      await what();
    } catch (error) {
      this.notice.value = { text: words(error), failed: true };
    }
  }

  async #do(what: () => Promise<void>): Promise<void> {
    await this.#said(() => this.#change(what));
  }
}

/** A time as the host takes it. */
export function iso(at: number): string {
  return new Date(Math.round(at)).toISOString();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
