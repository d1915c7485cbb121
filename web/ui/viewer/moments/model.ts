/** The sessions of the timeline: which one is shown, its moments, and what a user does with one. */
import { batch, type Signal, signal } from '@preact/signals';
import type { Comparison } from '../../../../extension/branches';
import type { Regression } from '../../../../extension/regression';
import { many, t } from '../../../../extension/text';
import type {
  About,
  BranchPlan,
  Broken,
  Difference,
  List,
  ListMoment,
  Restored,
  Terminal,
} from '../../../../extension/timeline';
import { words } from '../../attempt';
import type { Ask } from '../../client';
import { duration, hour } from '../format';
import type { Notice } from '../model';
import type { TimelineData } from '../timeline/data';

/** The lane that moments are on. */
export const MOMENTS = 'moments';

/** The lane of commands that ended in recorded terminals. */
export const TERMINAL = 'terminal';

/** How many moments are read at a time, and where one of them is looked for. */
const PAGE = 100;
const FAR = 1000;

/** How many sessions beside the one that is shown have their newest moments on the timeline. */
const BESIDE = 8;

/** For how many ms a session stays the one that is shown, though another one has newer moments. */
const STAYS = 600_000;

/** Marks of the timeline, by the severity of the stretch after a moment. */
const MARKS: Readonly<Record<string, string>> = { warning: '1', error: '2' };

/** After which moment a page broke that still was broken later. */
export function stillBroken({ at, momentId }: Broken): string {
  return t('stillBroken', momentId ?? hour(Date.parse(at)));
}

/** A moment on the timeline, with its session. */
interface Drawn {
  moment: ListMoment;
  list: List;
  time: number;
}

/** Behind the view of moments. */
export class MomentsModel {
  /** The newest first. */
  readonly sessions: Signal<readonly About[]> = signal([]);
  /** The session that is shown; "" before one is known. */
  readonly chosen: Signal<string> = signal('');
  /** Its newest moments, and as many older ones as were asked for. */
  readonly list: Signal<List | undefined> = signal(undefined);
  /** The moment that is to be opened and scrolled to. */
  readonly sought: Signal<{ id: string } | undefined> = signal(undefined);
  /** What broke in the session, where that was asked for. */
  readonly broke: Signal<Regression | undefined> = signal(undefined);
  readonly problem: Signal<string> = signal('');
  readonly #ask: Ask;
  readonly #data: TimelineData;
  readonly #notice: Signal<Notice | undefined>;
  /** The newest moments of other sessions. */
  #beside: readonly List[] = [];
  /** What is on the lanes, by position. */
  #drawn: readonly Drawn[] = [];
  /** A user chose the session. */
  #fixed = false;
  #turn = 0;

  constructor(ask: Ask, data: TimelineData, notice: Signal<Notice | undefined>) {
    this.#ask = ask;
    this.#data = data;
    this.#notice = notice;
  }

  /** Reads everything anew. Without sessions nothing is shown; a failure is shown where moments are. */
  async refresh(): Promise<void> {
    const turn = ++this.#turn;
    const current = (): boolean => turn === this.#turn;
    let list: List | undefined;
    let beside: List[] = [];
    let problem = '';
    try {
      const { sessions } = await this.#ask('view_sessions', {});
      if (!current()) return;
      const known = sessions.some(({ sessionId }) => sessionId === this.chosen.value);
      const id = this.#fixed && known ? this.chosen.value : this.#choice(sessions);
      const drawn = sessions
        .filter((one) => isOpen(one) || latest(one) >= this.#data.start)
        .sort((a, b) => latest(b) - latest(a));
      const wanted = new Set(drawn.slice(0, BESIDE).map(({ sessionId }) => sessionId));
      if (id !== '') wanted.add(id);
      const lists = new Map<string, List>();
      const failures = new Map<string, unknown>();
      await Promise.all(
        [...wanted].map((id) =>
          this.#ask('view_session_timeline', { id }).then(
            (read) => lists.set(id, read),
            (error: unknown) => failures.set(id, error),
          ),
        ),
      );
      if (!current()) return;
      batch(() => {
        // Where the moments of one cannot be read, another session can be chosen.
        this.sessions.value = sessions;
        this.chosen.value = id;
      });
      list = lists.get(id);
      beside = [...lists.values()].filter((one) => one !== list);
      if (failures.has(id)) problem = words(failures.get(id));
    } catch (error) {
      problem = words(error);
    }
    if (!current()) return;
    batch(() => {
      this.list.value = list && joined(this.list.value, list);
      this.#beside = beside;
      this.problem.value = problem;
    });
    this.#draw();
  }

  /** The session to show: the open one with the newest moment. The one that is shown stays while its own are about as new. */
  #choice(sessions: readonly About[]): string {
    const open = sessions.filter(isOpen);
    const [newest = sessions[0]] = [...open].sort((a, b) => latest(b) - latest(a));
    const shown = open.find(({ sessionId }) => sessionId === this.chosen.value);
    if (newest === undefined) return '';
    return (shown !== undefined && latest(newest) - latest(shown) < STAYS ? shown : newest).sessionId;
  }

  /** Reads moments before those that are there. */
  async older(limit = PAGE): Promise<void> {
    const list = this.list.value;
    const before = list?.moments[0]?.id;
    if (list === undefined || before === undefined || (list.omitted ?? 0) === 0) return;
    const page = await this.#ask('view_session_timeline', { id: list.sessionId, before, limit });
    const now = this.list.value;
    if (now?.sessionId !== list.sessionId || now.moments[0]?.id !== before) return; // read meanwhile
    this.list.value = {
      ...now,
      moments: [...page.moments, ...now.moments],
      fsSnapshots: together(page, now),
      omitted: page.omitted ?? 0,
    };
    this.#draw();
  }

  /** Opens a moment or a file snapshot, of another session after an @. */
  async open(moment: string): Promise<void> {
    const [id = '', session = ''] = moment.split('@');
    if (session !== '' && session !== this.chosen.value) await this.choose(session);
    const named = (): ListMoment | undefined =>
      this.list.value?.moments.find((one) => one.id === id || one.fsSnapshot === id);
    const omitted = (): number => this.list.value?.omitted ?? 0;
    for (let left = Number.POSITIVE_INFINITY; named() === undefined && omitted() > 0 && omitted() < left; ) {
      left = omitted();
      await this.older(FAR);
    }
    const found = named();
    if (found === undefined) throw new Error(t('momentUnknown', moment));
    this.sought.value = { id: found.id };
  }

  /** Finds what broke, from what was recorded. */
  async find(): Promise<void> {
    const id = this.chosen.value;
    const found = await this.#ask('view_session_regression', { id });
    if (id === this.chosen.value) this.broke.value = found;
  }

  /** Puts the moments on the timeline, and those of commands once more by their exit status. */
  #draw(): void {
    const lists = [...(this.list.value === undefined ? [] : [this.list.value]), ...this.#beside];
    this.#drawn = lists
      .flatMap((list) => list.moments.map((moment) => ({ moment, list, time: Date.parse(moment.at) })))
      .sort((a, b) => a.time - b.time);
    const draw = (name: string, position: number, { time }: Drawn, marks: string): void =>
      this.#data.lane(name).append({ lane: name, time, position, times: [0], marks });
    this.#data.lane(MOMENTS).clear();
    if (this.#data.names.includes(TERMINAL)) this.#data.lane(TERMINAL).clear();
    for (const [position, one] of this.#drawn.entries()) {
      const { severity, terminal, anchor } = one.moment;
      draw(MOMENTS, position, one, MARKS[severity ?? ''] ?? '0');
      if (terminal !== undefined && anchor === undefined)
        draw(TERMINAL, position, one, markOfExit(terminal.exit));
    }
  }

  /** A moment of the lane in a line, by its position. */
  describe(position: number): string {
    const one = this.#drawn[position];
    if (one === undefined) return t('gone');
    const { id, kind, label, brokenSince } = one.moment;
    const words = `${this.#isShown(one) ? id : `${id}@${one.list.sessionId}`} ${kind}: ${label}`;
    return brokenSince === undefined ? words : `${words} · ${stillBroken(brokenSince)}`;
  }

  /** The command before a moment in a line, by the position of the moment. */
  describeCommand(position: number): string {
    const one = this.#drawn[position];
    if (one?.moment.terminal === undefined) return t('gone');
    const { label, terminal } = one.moment;
    return [label, duration(terminal.ms), ...(this.#isShown(one) ? [] : [one.list.sessionId])].join(' · ');
  }

  #isShown({ list: { sessionId } }: Drawn): boolean {
    return sessionId === this.chosen.value;
  }

  async choose(id: string): Promise<void> {
    this.#fixed = true;
    this.broke.value = undefined;
    this.chosen.value = id;
    await this.refresh();
  }

  async difference(from: string, to: string): Promise<Difference> {
    return await this.#ask('view_session_diff', { id: this.chosen.value, from, to });
  }

  /** What became of a branch beside another one, or beside its original where that is "". */
  async compare(id: string, beside: string): Promise<Comparison> {
    return await this.#ask('view_session_compare', { id, ...(beside !== '' && { with: beside }) });
  }

  /** The plan of a restore, or with a plan the restore. If the files changed since that plan, it is the present one. */
  async restore(moment: string, plan?: Restored): Promise<Restored> {
    const id = this.chosen.value;
    const done = await this.#ask('view_session_restore', {
      id,
      moment,
      ...(plan !== undefined && { confirm: true, plan: plan.plan ?? '' }),
    });
    if (!done.done) return done;
    const { operation, changes } = done;
    const count = Object.values(changes).reduce((sum, n) => sum + n, 0);
    this.#notice.value = {
      text: many('restored', count, moment),
      failed: false,
      ...(operation !== undefined && {
        undo: { label: t('undo'), run: () => this.#undo(id, operation) },
      }),
    };
    await this.refresh();
    return done;
  }

  async #undo(id: string, operation: string): Promise<void> {
    try {
      await this.#ask('view_session_undo', { id, operation });
      this.#notice.value = { text: t('restoreUndone', operation), failed: false };
    } catch (error) {
      this.#notice.value = { text: words(error), failed: true };
    }
    await this.refresh();
  }

  /** Makes a branch and shows it, or returns the plan of a long copy that is to be confirmed. */
  async branch(
    moment: string,
    name: string,
    message: string,
    agent: string,
    confirm: boolean,
  ): Promise<BranchPlan | undefined> {
    const made = await this.#ask('view_session_branch', {
      id: this.chosen.value,
      moment,
      name,
      ...(message !== '' && { injectedMessage: message }),
      ...(agent !== '' && { agent }),
      ...(confirm && { confirm }),
    });
    if (made.plan !== undefined) return made.plan;
    const problem = made.agent?.problem ?? made.problem ?? '';
    const why = problem.charAt(0).toUpperCase() + problem.slice(1);
    const started =
      made.agent === undefined || why !== ''
        ? why
        : t('branchStarted', made.agent.name, made.agent.method, made.agent.path);
    const lacks = made.unnamed === undefined ? '' : t('branchLacks', made.unnamed.join('; '));
    const where = t('branchMade', name, made.workspace);
    this.#notice.value = {
      text: [lacks === '' ? `${where}.` : `${where} ${lacks}`, started].filter((one) => one !== '').join(' '),
      failed: why !== '',
    };
    await this.choose(made.sessionId);
    return undefined;
  }
}

function isOpen({ endedAt }: About): boolean {
  return endedAt === undefined;
}

/** When something happened last in a session, in ms. */
function latest({ lastMomentAt, endedAt, startedAt }: About): number {
  return Date.parse(lastMomentAt ?? endedAt ?? startedAt);
}

/** The mark of a command: an error if it failed, and a warning if the shell did not report how it ended. */
function markOfExit(exit: number | undefined): string {
  if (exit === undefined) return '1';
  return exit === 0 ? '0' : '2';
}

/** How a command ended, or where an agent did something. */
export function terminalWords({ exit, ms, offset }: Terminal, byAgent: boolean): string {
  if (byAgent) return t('terminalOffset', String(offset));
  return `${exit === undefined ? t('exitUnknown') : t('exitStatus', String(exit))} · ${duration(ms)}`;
}

/** The newest moments, after the older ones that were read before where these reach up to them. */
function joined(known: List | undefined, newest: List): List {
  if (known?.sessionId !== newest.sessionId) return newest;
  const at = known.moments.findIndex(({ id }) => id === newest.moments[0]?.id);
  if (at <= 0) return newest;
  return {
    ...newest,
    moments: [...known.moments.slice(0, at), ...newest.moments],
    fsSnapshots: together(known, newest),
    omitted: Math.max(0, (newest.omitted ?? 0) - at),
  };
}

/** The file snapshots of two lists, each once. */
function together(older: List, newer: List): List['fsSnapshots'] {
  return [...new Map([...older.fsSnapshots, ...newer.fsSnapshots].map((one) => [one.id, one])).values()];
}
