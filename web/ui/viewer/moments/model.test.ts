import { signal } from '@preact/signals';
import { expect, test } from 'vitest';
import type { SessionTimelineParams } from '../../../../extension/protocol';
import type { List, ListMoment } from '../../../../extension/timeline';
import type { Ask } from '../../client';
import type { Notice } from '../model';
import { TimelineData } from '../timeline/data';
import { MOMENTS, MomentsModel, TERMINAL, terminalWords } from './model';

/** A host with sessions of so many moments, which answers with pages of them. */
class Host {
  asked: SessionTimelineParams[] = [];
  readonly moments: Record<string, ListMoment[]>;

  constructor(counts: Record<string, number>) {
    this.moments = Object.fromEntries(
      Object.entries(counts).map(([id, n]) => [id, Array.from({ length: n }, (_, i) => moment(i + 1))]),
    );
  }

  add(id: string): void {
    const all = this.moments[id] ?? [];
    all.push(moment(all.length + 1));
  }

  model(): { moments: MomentsModel; data: TimelineData } {
    const data = new TimelineData();
    const ask = (async (method: string, params: SessionTimelineParams) => {
      if (method === 'view_sessions')
        return {
          sessions: Object.entries(this.moments).map(([sessionId, all]) => ({
            sessionId,
            startedAt: new Date(0).toISOString(),
            lastMomentAt: all.at(-1)?.at,
          })),
        };
      this.asked.push(params);
      const all = this.moments[params.id] ?? [];
      const end = params.before === undefined ? all.length : all.findIndex(({ id }) => id === params.before);
      const start = Math.max(0, end - (params.limit ?? 100));
      const page = all.slice(start, end);
      return {
        sessionId: params.id,
        moments: page,
        fsSnapshots: [],
        ...(start > 0 && { omitted: start }),
      } as unknown as List;
    }) as unknown as Ask;
    return { moments: new MomentsModel(ask, data, signal(undefined)), data };
  }
}

function moment(n: number): ListMoment {
  return {
    id: `m${n}`,
    ts: n,
    at: new Date(n * 1000).toISOString(),
    label: '',
    kind: 'auto',
    source: 'edit',
    fsSnapshot: `s${n}`,
    ...(n % 50 === 0 && { severity: 'error' }),
    ...(n === 52 && { severity: 'error', brokenSince: { at: '', momentId: 'm50' } }),
  };
}

const ids = ({ list }: MomentsModel): string[] => (list.value?.moments ?? []).map(({ id }) => id);

test('older moments are read page by page, and stay when newer ones appear', async () => {
  const host = new Host({ a: 250 });
  const { moments, data } = host.model();
  await moments.refresh();
  expect([ids(moments)[0], ids(moments).length, moments.list.value?.omitted]).toEqual(['m151', 100, 150]);
  await Promise.all([moments.older(), moments.older()]); // a user is impatient
  expect([ids(moments)[0], ids(moments).length, moments.list.value?.omitted]).toEqual(['m51', 200, 50]);
  host.add('a');
  await moments.refresh();
  expect([ids(moments)[0], ids(moments).at(-1), ids(moments).length]).toEqual(['m51', 'm251', 201]);
  expect(moments.list.value?.omitted).toBe(50);
  await moments.older();
  await moments.older();
  expect(ids(moments)).toEqual(host.moments.a?.map(({ id }) => id));
  expect(moments.list.value?.omitted).toBe(0);
  const lane = data.lane(MOMENTS);
  expect([lane.length, ...lane.marks.slice(49, 52)]).toEqual([251, 2, 0, 2]);
  expect(moments.describe(51)).toContain('still broken since m50');
});

test('where so many are new that they do not reach what is there, the newest are shown', async () => {
  const host = new Host({ a: 120 });
  const { moments } = host.model();
  await moments.refresh();
  for (let i = 0; i < 200; i++) host.add('a');
  await moments.refresh();
  expect([ids(moments)[0], ids(moments).length, moments.list.value?.omitted]).toEqual(['m221', 100, 220]);
});

test('a moment is opened wherever it is, in a session of its own', async () => {
  const host = new Host({ a: 10, b: 5000 });
  const { moments } = host.model();
  await moments.refresh();
  await moments.open('m7@b');
  expect([moments.chosen.value, moments.sought.value?.id, ids(moments)[0]]).toEqual(['b', 'm7', 'm1']);
  expect(host.asked.length).toBeLessThan(10);
  await moments.open('s4990');
  expect(moments.sought.value?.id).toBe('m4990');
  await expect(moments.open('m9999')).rejects.toThrow('m9999');
  expect(moments.sought.value?.id).toBe('m4990');
});

test('the session with the newest moment is shown, and moments of all are on the lane', async () => {
  const host = new Host({ newest: 2, busy: 4 });
  const { moments, data } = host.model();
  await moments.refresh();
  expect([moments.chosen.value, ids(moments).length, data.lane(MOMENTS).length]).toEqual(['busy', 4, 6]);
  expect([1, 5].map((at) => moments.describe(at))).toEqual(['m1@newest auto: ', 'm4 auto: ']);
  host.moments.newest?.push(moment(100)); // not long after
  await moments.refresh();
  expect(moments.chosen.value).toBe('busy');
  host.moments.newest?.push(moment(1000));
  await moments.refresh();
  expect([moments.chosen.value, data.lane(MOMENTS).length]).toEqual(['newest', 8]);
  await moments.choose('busy');
  host.moments.newest?.push(moment(10_000));
  await moments.refresh();
  expect([moments.chosen.value, ids(moments).length]).toEqual(['busy', 4]);
});

test('of many sessions those with the newest moments are on the lane', async () => {
  const branches = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`branch-${i}`, 1]));
  const { moments, data } = new Host({ ...branches, shop: 50 }).model();
  await moments.refresh();
  expect([moments.chosen.value, data.lane(MOMENTS).length]).toEqual(['shop', 57]);
});

test('a command of a terminal is marked by its exit status', async () => {
  const host = new Host({ s: 5 });
  const terminal = (exit?: number) => ({
    recording: 't1',
    offset: 0,
    ms: 1500,
    ...(exit !== undefined && { exit }),
  });
  const [, ok, failed, unknown, agent] = host.moments.s ?? [];
  Object.assign(ok ?? {}, { label: 'npm test', terminal: terminal(0) });
  Object.assign(failed ?? {}, { label: 'make (exit 2)', terminal: terminal(2) });
  Object.assign(unknown ?? {}, { label: 'exec zsh (no exit status)', terminal: terminal() });
  // What an agent did in the terminal is no command of its shell.
  Object.assign(agent ?? {}, {
    label: 'Edit a.ts',
    anchor: { agent: 'claude', sessionId: 'a' },
    terminal: { recording: 't1', offset: 1234, ms: 0 },
  });
  const { moments, data } = host.model();
  await moments.refresh();
  const { length, marks, positions } = data.lane(TERMINAL);
  expect([...positions.slice(0, length)]).toEqual([1, 2, 3]);
  expect([...marks.slice(0, length)]).toEqual([0, 2, 1]);
  expect([1, 2, 3].map((n) => moments.describeCommand(n))).toEqual([
    'npm test · 1.5 s',
    'make (exit 2) · 1.5 s',
    'exec zsh (no exit status) · 1.5 s',
  ]);
  expect(terminalWords(terminal(2), false)).toBe('exit 2 · 1.5 s');
  expect(terminalWords(terminal(), true)).toBe('at byte 0 of what the terminal showed');
  expect(moments.describeCommand(0)).toBe('no longer in memory');
  expect(data.lane(MOMENTS).length).toBe(5);
});

test('a branch names the files that it lacks', async () => {
  const ask = (async (method: string) =>
    method === 'view_sessions'
      ? { sessions: [] }
      : {
          sessionId: 'b-1',
          workspace: '/b',
          unnamed: ['aux.c: on Windows, AUX is a device'],
        }) as unknown as Ask;
  const notice = signal<Notice | undefined>(undefined);
  const moments = new MomentsModel(ask, new TimelineData(), notice);
  await moments.branch('m1', 'way', '', '', false);
  expect(notice.value?.text).toBe('Branch way created in /b without aux.c: on Windows, AUX is a device.');
});

test('a branch whose agent did not start is a failure', async () => {
  for (const [made, failed] of [
    [{ problem: 'no agent was started.' }, true],
    [{ agent: { name: 'claude', method: 'fresh', path: '/b', problem: 'claude is not installed.' } }, true],
    [{ agent: { name: 'claude', method: 'fresh', path: '/b' } }, false],
  ] as const) {
    const ask = (async (method: string) =>
      method === 'view_sessions'
        ? { sessions: [] }
        : { sessionId: 'b-1', workspace: '/b', ...made }) as unknown as Ask;
    const notice = signal<Notice | undefined>(undefined);
    await new MomentsModel(ask, new TimelineData(), notice).branch('m1', 'way', 'go on', '', false);
    expect(notice.value?.failed).toBe(failed);
    expect(notice.value?.text).toMatch(
      /^Branch way created in \/b\. (?:No agent|Claude is not|claude works)/,
    );
  }
});

test('a long copy is planned, and made when it is confirmed', async () => {
  const asked: unknown[] = [];
  const plan = { files: 100_000, bytes: 2_000_000_000, seconds: 42, why: 'files are copied' };
  const ask = (async (method: string, params: { confirm?: boolean }) => {
    if (method === 'view_sessions') return { sessions: [] };
    asked.push(params.confirm);
    return params.confirm === true
      ? { sessionId: 'b-1', workspace: '/b' }
      : { sessionId: '', workspace: '/b', plan };
  }) as unknown as Ask;
  const notice = signal<Notice | undefined>(undefined);
  const moments = new MomentsModel(ask, new TimelineData(), notice);
  expect(await moments.branch('m1', 'way', '', '', false)).toEqual(plan);
  expect(notice.value).toBeUndefined();
  expect(await moments.branch('m1', 'way', '', '', true)).toBeUndefined();
  expect(notice.value?.failed).toBe(false);
  expect(asked).toEqual([undefined, true]);
});
