/** The sessions of the timeline: which one is shown, its moments, and what a user does with one. */
import { batch, type Signal, signal } from '@preact/signals';
import { many, t } from '../../../../extension/text';
import type { About, Difference, List, Restored } from '../../../../extension/timeline';
import { words } from '../../attempt';
import type { Ask } from '../../client';
import type { Notice } from '../model';
import type { TimelineData } from '../timeline/data';

/** The lane that moments are on. */
export const MOMENTS = 'moments';

/** Behind the view of moments. */
export class MomentsModel {
  /** The newest first. */
  readonly sessions: Signal<readonly About[]> = signal([]);
  /** The session that is shown; "" before one is known. */
  readonly chosen: Signal<string> = signal('');
  readonly list: Signal<List | undefined> = signal(undefined);
  readonly problem: Signal<string> = signal('');
  readonly #ask: Ask;
  readonly #data: TimelineData;
  readonly #notice: Signal<Notice | undefined>;
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
    let problem = '';
    try {
      const { sessions } = await this.#ask('view_sessions', {});
      if (!current()) return;
      const known = sessions.some(({ sessionId }) => sessionId === this.chosen.value);
      const newest = sessions.find(({ endedAt }) => endedAt === undefined) ?? sessions[0];
      const id = (this.#fixed && known ? this.chosen.value : newest?.sessionId) ?? '';
      batch(() => {
        // Where the moments of one cannot be read, another session can be chosen.
        this.sessions.value = sessions;
        this.chosen.value = id;
      });
      list = id === '' ? undefined : await this.#ask('view_session_timeline', { id });
    } catch (error) {
      problem = words(error);
    }
    if (!current()) return;
    batch(() => {
      this.list.value = list;
      this.problem.value = problem;
    });
    this.#draw(list);
  }

  /** Puts the moments on the timeline. */
  #draw(list: List | undefined): void {
    const lane = this.#data.lane(MOMENTS);
    lane.clear();
    for (const [position, { at }] of (list?.moments ?? []).entries()) {
      const time = Date.parse(at);
      lane.append({ lane: MOMENTS, time, position, times: [0], marks: '0' });
    }
  }

  /** A moment of the list in a line, by its place in it. */
  describe(position: number): string {
    const one = this.list.value?.moments[position];
    return one === undefined ? t('gone') : `${one.id} ${one.kind}: ${one.label}`;
  }

  async choose(id: string): Promise<void> {
    this.#fixed = true;
    this.chosen.value = id;
    await this.refresh();
  }

  async difference(from: string, to: string): Promise<Difference> {
    return await this.#ask('view_session_diff', { id: this.chosen.value, from, to });
  }

  /** The plan of a restore, or the restore. */
  async restore(moment: string, confirm: boolean): Promise<Restored> {
    const id = this.chosen.value;
    const done = await this.#ask('view_session_restore', { id, moment, confirm });
    if (!confirm) return done;
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

  /** Makes a branch and shows it. */
  async branch(moment: string, name: string, message: string): Promise<void> {
    const made = await this.#ask('view_session_branch', {
      id: this.chosen.value,
      moment,
      name,
      ...(message !== '' && { injectedMessage: message }),
    });
    this.#notice.value = { text: t('branchMade', name, made.workspace), failed: false };
    await this.choose(made.sessionId);
  }
}
