// @vitest-environment happy-dom
import { signal } from '@preact/signals';
import { render } from 'preact';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ViewEntries, ViewEntriesParams, ViewRef, ViewReport } from '../../../extension/protocol';
import type { Ask, ViewerClient } from '../client';
import { Checkpoints } from './checkpoints';
import { Makers } from './conversation/conversation';
import { Line, Source } from './entry';
import { ViewerModel } from './model';
import { Viewer } from './viewer';

let root: HTMLElement;
let model: ViewerModel;
/** What the host answers; a rejection where there is nothing. */
let answers: Partial<Record<string, (params: never) => unknown>>;

beforeEach(() => {
  vi.useFakeTimers();
  answers = {};
  const ask = (async (method: string, params: never) => {
    const answer = answers[method];
    if (answer === undefined) throw new Error(`${method} is not answered`);
    return answer(params);
  }) as unknown as Ask;
  const client: ViewerClient = {
    connection: signal({ state: 'waiting', text: '' }),
    ask,
    connect: () => undefined,
  };
  model = new ViewerModel(client);
  root = document.createElement('div');
  document.body.append(root);
});
afterEach(() => {
  render(null, root);
  root.remove();
  model.stop();
  vi.useRealTimers();
});

function button(text: string): HTMLButtonElement {
  const found = [...root.querySelectorAll('button')].find((b) => b.textContent === text);
  if (found === undefined) throw new Error(`there is no button ${text}: ${root.textContent}`);
  return found;
}

test('a generated line is marked', () => {
  const line = (generated: boolean): string => {
    const place = { url: 'http://localhost/App.jsx', line: 22, ...(generated && { generated }) };
    render(<Source model={model} place={place} />, root);
    return root.textContent ?? '';
  };
  expect(line(false)).toBe('App.jsx:22');
  expect(line(true)).toBe('App.jsx:22 (generated)');
});

test('a word to the person goes away by itself, be it good or bad', async () => {
  render(<Viewer model={model} />, root);
  for (const [failed, ms] of [
    [false, 8000],
    [true, 20_000],
  ] as const) {
    model.notice.value = { text: 'something happened', failed };
    await vi.advanceTimersByTimeAsync(ms - 100);
    expect(root.querySelector('.notice')?.textContent).toContain('something happened');
    await vi.advanceTimersByTimeAsync(200);
    expect(root.querySelector('.notice')).toBeNull();
  }
});

test('the report of a tab is not shown for another', async () => {
  const report = (text: string) =>
    ({ from: 'start', to: 'now', report: { summary: text } }) as unknown as ViewReport;
  const late: ((report: ViewReport) => void)[] = [];
  answers.view_report = () => new Promise((answered) => late.push(answered));
  model.setLeast('all');
  model.showTab(3);
  model.setLeast('all');
  const [ofAll, ofThree] = late;
  ofAll?.(report('of all'));
  await vi.advanceTimersByTimeAsync(0);
  expect(model.report.value).toBeUndefined();
  ofThree?.(report('of 3'));
  await vi.advanceTimersByTimeAsync(0);
  expect(model.report.value).toEqual(report('of 3'));
  model.showTab(4);
  expect(model.report.value).toBeUndefined();
});

test('why a checkpoint cannot have a name is said where it is typed, until another is', async () => {
  const since = { severity: 'clean', summary: '' };
  const checkpoint = { name: 'one', moment: 'one', at: 1, since };
  model.checkpoints.value = { checkpoints: [checkpoint], now: since, since: 'one', most: 20 };
  answers.view_checkpoint_rename = ({ to }: { to: string }) => {
    throw new Error(`there is ${to} already`);
  };
  render(<Checkpoints model={model} />, root);
  button('Rename').click();
  await vi.advanceTimersByTimeAsync(150);
  const input = root.querySelector<HTMLInputElement>('.rename input');
  const type = async (text: string): Promise<void> => {
    if (input !== null) input.value = text;
    input?.dispatchEvent(new Event('input', { bubbles: true }));
    await vi.advanceTimersByTimeAsync(150);
  };
  await type('two');
  root.querySelector<HTMLFormElement>('.rename')?.requestSubmit();
  await vi.advanceTimersByTimeAsync(150);
  expect(root.querySelector('.rename .problem')?.textContent).toBe('there is two already');
  expect(model.notice.value).toBeUndefined();
  expect(button('OK').disabled).toBe(false); // what failed for another reason can be tried again
  await type('twos');
  expect(root.querySelector('.rename .problem')).toBeNull();
});

/** A line whose occurrences are at these positions, opened. */
async function opened(positions: number[]): Promise<void> {
  const entry = { lane: 'console', positions } as ViewRef;
  render(
    <Line model={model} entry={entry}>
      boom
    </Line>,
    root,
  );
  root.querySelector<HTMLButtonElement>('.opener')?.click();
  await vi.advanceTimersByTimeAsync(150);
}

test('occurrences that are too much for one answer are asked for in several', async () => {
  const asked: number[][] = [];
  answers.view_entries = ({ positions = [] }: ViewEntriesParams): ViewEntries => {
    asked.push(positions);
    return {
      entries: positions.slice(0, 2).map((position) => ({
        lane: 'console',
        position,
        at: position,
        tab: 1,
        mark: '2',
        kind: 'error',
        text: `boom ${position}`,
      })),
      total: positions.length,
    };
  };
  await opened([3, 6, 9]);
  expect(asked).toEqual([[9, 6, 3], [3]]);
  expect([...root.querySelectorAll('.occurrence pre')].map((pre) => pre.textContent)).toEqual([
    'boom 9',
    'boom 6',
    'boom 3',
  ]);
});

test('of occurrences that have left the memory it is said how many, and the others are shown', async () => {
  const asked: number[][] = [];
  answers.view_entries = ({ positions = [] }: ViewEntriesParams): ViewEntries => {
    asked.push(positions);
    const held = positions.filter((position) => position > 10);
    return {
      entries: held.map((position) => ({
        lane: 'console',
        position,
        at: position,
        tab: 1,
        mark: '2',
        kind: 'error',
        text: `boom ${position}`,
      })),
      total: positions.length,
      missing: positions.length - held.length,
    };
  };
  await opened([3, 6, 9, 10, 12, 14, 16]);
  expect(asked).toEqual([[16, 14, 12, 10, 9]]);
  expect([...root.querySelectorAll('.occurrence pre')].map((pre) => pre.textContent)).toEqual([
    'boom 16',
    'boom 14',
    'boom 12',
  ]);
  expect(root.textContent).toContain('2 occurrences are no longer in memory.');
  button('Show 2 more').click();
  await vi.advanceTimersByTimeAsync(150);
  expect(root.querySelectorAll('.occurrence')).toHaveLength(3);
  expect(root.textContent).toContain('4 occurrences are no longer in memory.');
  expect(root.textContent).not.toContain('more');
});

test('the conversation and its lane are of the session that is chosen in Moments', async () => {
  const at = '2026-01-01T00:00:00Z';
  const about = (id: string) => ({
    sessionId: id,
    workspace: `/${id}`,
    startedAt: at,
    moments: [],
    fsSnapshots: [],
  });
  answers.view_sessions = () => ({ sessions: [about('one'), about('two')] });
  answers.view_session_timeline = ({ id }: { id: string }) => about(id);
  answers.view_session_tree = ({ id }: { id: string }) => ({
    turns: [{ at, prompt: `a prompt of ${id}`, calls: [] }],
    recordings: [],
  });
  const prompts = (): string[] => model.conversation.rows.value.map(({ turn }) => turn.prompt ?? '');
  await model.moments.refresh();
  await vi.advanceTimersByTimeAsync(0);
  expect(prompts()).toEqual(['a prompt of one']);
  const drawn = model.drawn.value;
  await model.moments.choose('two');
  await vi.advanceTimersByTimeAsync(0);
  expect(prompts()).toEqual(['a prompt of two']);
  expect(model.conversation.describe(0)).toBe('a prompt of two');
  expect(model.drawn.value).toBeGreaterThan(drawn);
});

test('a file that one of several calls changed says what these calls are', async () => {
  const at = '2026-01-01T00:00:00Z';
  const oneOf = ['toolu_old', 'toolu_1', 'toolu_2'];
  const call = (callId: string, title: string, files: object[] = []) => ({ callId, title, at, files });
  const sub = call('toolu_2', 'Edit a.js', [{ path: 'a.js', change: 'modified', oneOf }]);
  const calls = [call('toolu_1', '$ npm run fix'), { ...call('toolu_0', 'Agent'), calls: [sub] }];
  answers.view_sessions = () => ({
    sessions: [{ sessionId: 'one', workspace: '/one', startedAt: at, moments: [], fsSnapshots: [] }],
  });
  answers.view_session_timeline = () => ({ sessionId: 'one', workspace: '/one', startedAt: at, moments: [] });
  answers.view_session_tree = () => ({ turns: [{ at, prompt: 'go', calls }], recordings: [] });
  await model.moments.refresh();
  await vi.advanceTimersByTimeAsync(0);
  expect(model.conversation.makers(oneOf)).toMatchObject({
    calls: [{ title: '$ npm run fix' }, { title: 'Edit a.js' }],
    older: 1,
  });
  render(<Makers model={model} ids={oneOf} />, root);
  for (const text of ['$ npm run fix', 'Edit a.js', '1 older call']) expect(root.textContent).toContain(text);
  expect(root.textContent).not.toContain('toolu_');
});
