/** What agents did in a session: prompts, the calls that followed, and the files that each changed. */
import { batch, type Signal, signal } from '@preact/signals';
import type { Call, Content, File, Tree, Turn } from '../../../../extension/sessiontree';
import { t } from '../../../../extension/text';
import type { Difference } from '../../../../extension/timeline';
import { words } from '../../attempt';
import type { Ask } from '../../client';
import type { TimelineData } from '../timeline/data';

/** The lane that prompts and calls are on. */
export const CONVERSATION = 'conversation';

/** Marks of the timeline, by the severity of what followed a call. */
const MARKS: Readonly<Record<string, string>> = { warning: '1', error: '2' };

/** A prompt, or a call below it. */
export interface Row {
  id: string;
  at: string;
  turn: Turn;
  /** Undefined for the prompt itself. */
  call?: Call;
  /** How many calls of subagents it is below. */
  depth: number;
  /** When the next call that changed files began; up to there, the browser's report is about this one. */
  until?: string;
}

/** Behind the view of the conversation. */
export class ConversationModel {
  readonly tree: Signal<Tree | undefined> = signal(undefined);
  readonly rows: Signal<readonly Row[]> = signal([]);
  readonly problem: Signal<string> = signal('');
  readonly #ask: Ask;
  readonly #data: TimelineData;
  #session = '';
  #busy = false;
  #again = false;

  constructor(ask: Ask, data: TimelineData) {
    this.#ask = ask;
    this.#data = data;
  }

  /** Reads the session anew; "" is none. While it is read, further calls lead to one more reading. */
  async refresh(session: string): Promise<void> {
    this.#session = session;
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#read(this.#session);
      }
    } finally {
      this.#busy = false;
    }
  }

  async #read(id: string): Promise<void> {
    let tree: Tree | undefined;
    let problem = '';
    try {
      tree = id === '' ? undefined : await this.#ask('view_session_tree', { id });
    } catch (error) {
      problem = words(error);
    }
    if (id !== this.#session) return; // another one was chosen meanwhile
    batch(() => {
      this.tree.value = tree;
      this.rows.value = rowsOf(tree?.turns ?? []);
      this.problem.value = problem;
    });
    const lane = this.#data.lane(CONVERSATION);
    lane.clear();
    for (const [position, { at, call }] of this.rows.value.entries()) {
      const marks = MARKS[call?.severity ?? ''] ?? '0';
      lane.append({ lane: CONVERSATION, time: Date.parse(at), position, times: [0], marks });
    }
  }

  /** A prompt or a call in a line, by its place among the rows. */
  describe(position: number): string {
    const row = this.rows.value[position];
    if (row === undefined) return t('gone');
    return row.call?.title ?? (row.turn.prompt || t('promptUnknown'));
  }

  /** The calls with these IDs, and how many of them are older than what is shown. */
  makers(ids: readonly string[]): { calls: { id: string; at: string; title: string }[]; older: number } {
    const calls = [];
    const wanted = new Set(ids);
    for (const { id, call } of this.rows.value) {
      if (call?.callId !== undefined && wanted.delete(call.callId)) {
        calls.push({ id, at: call.at, title: call.title });
      }
    }
    return { calls, older: wanted.size };
  }

  /** What a change of a file did to its lines. */
  async difference({ path, since, fsSnapshotId }: File): Promise<Difference | undefined> {
    if (since === undefined || fsSnapshotId === undefined) return undefined;
    return await this.#ask('view_session_diff', { id: this.#session, from: since, to: fsSnapshotId, path });
  }

  /** What a recorded call was given and returned. */
  async content({ recording }: Turn, { callId }: Call): Promise<Content | undefined> {
    if (recording === undefined || callId === undefined) return undefined;
    return await this.#ask('view_recorded_call', { recording, call: callId });
  }
}

/** The prompts and calls from top to bottom, by time within a prompt. */
export function rowsOf(turns: readonly Turn[]): Row[] {
  const rows: Row[] = [];
  // The same row has the same ID when older ones are left out.
  const taken = new Map<string, number>();
  const unique = (name: string): string => {
    const times = taken.get(name) ?? 0;
    taken.set(name, times + 1);
    return `${name} ${times}`;
  };
  const add = (turn: Turn, calls: readonly Call[], depth: number): void => {
    for (const call of calls) {
      rows.push({ id: unique(call.callId ?? `${call.at} ${call.title}`), at: call.at, turn, call, depth });
      add(turn, call.calls ?? [], depth + 1);
    }
  };
  for (const turn of turns) {
    rows.push({ id: unique(`prompt ${turn.at}`), at: turn.at, turn, depth: 0 });
    add(turn, turn.calls, 0);
  }
  let until: string | undefined;
  for (const row of rows.filter(edits).sort((a, b) => (a.at < b.at ? 1 : -1))) {
    if (until !== undefined) row.until = until;
    until = row.at;
  }
  return rows;
}

function edits({ call }: Row): boolean {
  return (call?.files?.length ?? 0) > 0;
}
