import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DebugState } from '../protocol';
import { SharedDebugger } from './attachment';
import { Debugging, type DebugMemory } from './debugging';
import { trace } from './trace';

const caller = { tab: 7, by: 'claude', release_ms: 60_000 };

let sent: string[];
let detached: number;
let memory: DebugMemory;
let debugging: Debugging;

/** What the browser waits for before it carries out a command. */
let before: (method: string) => Promise<void>;

/** How the host names the line of a pause. */
let place: (params: unknown) => Promise<unknown>;

beforeEach(async () => {
  vi.useFakeTimers();
  sent = [];
  detached = 0;
  memory = {};
  before = async () => undefined;
  const api = new SharedDebugger({
    attach: async () => undefined,
    detach: async () => void detached++,
    sendCommand: async (_, method) => {
      sent.push(method);
      await before(method);
      if (method === 'Debugger.setBreakpointByUrl') return { breakpointId: '1:3:0:app.js', locations: [] };
      return { result: {} };
    },
  });
  debugging = new Debugging({
    api,
    page: async () => 'http://localhost/',
    request: async (method, params) => (method === 'debug_place' ? await place(params) : { breakpoints: [] }),
    changed: () => undefined,
    remember: (now) => {
      memory = now;
    },
  });
  await debugging.restore(undefined);
});
afterEach(() => {
  vi.useRealTimers();
});

const breakpoint = { id: 'bp-1', places: [{ url: 'http://localhost/app.js', line: 4 }] };
const set = () => debugging.answer('debug_breakpoint', { ...caller, breakpoint });
const state = async () => (await debugging.answer('debug_state', caller)) as DebugState;

function pauses(): void {
  const location = { scriptId: '1', lineNumber: 3, columnNumber: 0 };
  debugging.event({ tabId: 7 }, 'Debugger.paused', {
    reason: 'other',
    hitBreakpoints: ['1:3:0:app.js'],
    callFrames: [{ callFrameId: '0', functionName: 'total', location, url: 'http://localhost/app.js' }],
  });
}

async function pause(): Promise<void> {
  pauses();
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ by: 'claude', reason: 'breakpoint' }));
}

test('scripts are listed in the order in which they were last loaded', async () => {
  await set();
  for (const [scriptId, url] of [
    ['1', 'http://localhost/a.js'],
    ['2', 'http://localhost/b.js'],
    ['3', 'http://localhost/a.js'],
  ])
    debugging.event({ tabId: 7 }, 'Debugger.scriptParsed', { scriptId, url, startLine: 0 });
  await expect(debugging.answer('debug_scripts', caller)).resolves.toEqual({
    scripts: [{ url: 'http://localhost/b.js' }, { url: 'http://localhost/a.js' }],
  });
});

test('the source map of evaluated code is that of the newest', async () => {
  const map = (url: string) => debugging.answer('debug_map', { ...caller, url });
  const url = 'http://localhost/chunk.js?id=item';
  await expect(map(url)).resolves.toEqual({}); // it starts no session
  expect(sent).toEqual([]);
  await set();
  for (const [scriptId, sourceMapURL] of [
    ['1', 'data:,1'],
    ['2', 'data:,2'],
  ])
    debugging.event({ tabId: 7 }, 'Debugger.scriptParsed', { scriptId, url, sourceMapURL, startLine: 0 });
  await expect(map(url)).resolves.toEqual({ map: 'data:,2' });
  await expect(map('http://localhost/other.js')).resolves.toEqual({});
});

test('a pause that nobody ends is ended, and it is said how', async () => {
  await set();
  await pause();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(debugging.paused(7)).toMatchObject({ place: 'total (app.js:4)' });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(debugging.paused(7)).toBeUndefined();
  expect((await state()).threads[0]).toMatchObject({ id: 1, resumed: { how: 'time' } });
  expect(sent).toContain('Debugger.resume');
});

test('a pause in code with a source map is reported when the host has named its line', async () => {
  let name: (place: string) => void = () => undefined;
  place = (params) =>
    new Promise((resolve) => {
      expect(params).toMatchObject({ tab: 7, frame: { function: 'total', line: 4, column: 1 } });
      name = (text) => resolve({ place: text });
    });
  await set();
  const script = { scriptId: '1', url: 'http://localhost/app.js', sourceMapURL: 'app.js.map', startLine: 0 };
  debugging.event({ tabId: 7 }, 'Debugger.scriptParsed', script);
  pauses();
  await vi.advanceTimersByTimeAsync(100);
  expect(debugging.paused(7)).toBeUndefined();
  name('total (cart.ts:9)');
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7)).toMatchObject({ place: 'total (cart.ts:9)' });
});

test('a pause that ends before its line is named is not reported', async () => {
  place = () => new Promise(() => undefined);
  await set();
  const script = { scriptId: '1', url: 'http://localhost/app.js', sourceMapURL: 'app.js.map', startLine: 0 };
  debugging.event({ tabId: 7 }, 'Debugger.scriptParsed', script);
  pauses();
  await vi.advanceTimersByTimeAsync(100);
  debugging.event({ tabId: 7 }, 'Debugger.resumed', {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(debugging.paused(7)).toBeUndefined();
});

test('the line of a script with a source map is marked if the host cannot name it', async () => {
  place = async () => {
    throw new Error('unknown method');
  };
  await set();
  const script = { scriptId: '1', url: 'http://localhost/app.js', sourceMapURL: 'app.js.map', startLine: 0 };
  debugging.event({ tabId: 7 }, 'Debugger.scriptParsed', script);
  await pause();
  expect(debugging.paused(7)).toMatchObject({ place: 'total (app.js:4) (generated)' });
});

test('what is set in a new thread is sent before the thread runs', async () => {
  const places = [1, 2, 3].map((line) => ({ url: 'http://localhost/worker.js', line }));
  await debugging.answer('debug_breakpoint', { ...caller, breakpoint: { id: 'bp-1', places } });
  const session = debugging.session(7);
  if (session === undefined) throw new Error('no session');
  await trace(session, { ...caller, id: 'trace-1', places, limit: 1, wait_ms: 0 });
  sent = [];
  debugging.event({ tabId: 7 }, 'Target.attachedToTarget', {
    sessionId: 'worker',
    targetInfo: { type: 'worker', targetId: 'worker', url: '' },
    waitingForDebugger: true,
  });
  // Whoever lets it run may do so as soon as the event was taken.
  expect(sent.filter((method) => method === 'Debugger.setBreakpointByUrl')).toHaveLength(6);
  expect(sent.at(-1)).toBe('Runtime.runIfWaitingForDebugger');
});

test('a person who closes the debugging bar ends the session', async () => {
  await set();
  await pause();
  debugging.detached(7, 'canceled_by_user');
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7)).toBeUndefined();
  expect(await state()).toMatchObject({ ended: 'the user closed the debugging bar' });
  expect((await state()).active).toBeUndefined();
  expect(memory).toEqual({});
});

test('what a host debugged that is gone goes on, at once when another one is there', async () => {
  debugging.host('first');
  await set();
  await pause();
  debugging.host(undefined);
  await vi.advanceTimersByTimeAsync(3_000);
  debugging.host('first'); // it was the connection only
  await vi.advanceTimersByTimeAsync(10_000);
  expect(debugging.paused(7)).toBeDefined();
  debugging.host('second');
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7)).toBeUndefined();
  expect(detached).toBe(1);
});

test('the next life of the worker sets breakpoints again and tells that a pause has ended', async () => {
  await set();
  await pause();
  expect(memory).toMatchObject({ 7: { breakpoints: [breakpoint], paused: true } });
  const before = structuredClone(memory);
  debugging.detached(7, 'target_closed');
  sent = [];
  await debugging.restore(before);
  expect(sent).toContain('Debugger.setBreakpointByUrl');
  expect((await state()).threads[0]).toMatchObject({ resumed: { how: 'extension_restarted' } });
});

test('a page that is about to be left is not held again, one that stays is', async () => {
  await set();
  await pause();
  debugging.leaving(7);
  await vi.advanceTimersByTimeAsync(0);
  sent = [];
  debugging.event({ tabId: 7 }, 'Debugger.paused', { reason: 'other', hitBreakpoints: [], callFrames: [] });
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual(['Debugger.resume']);
  expect(debugging.paused(7)).toBeUndefined();
  await vi.advanceTimersByTimeAsync(11_000);
  await pause();
});

test('the debugger is off again when nothing needs it any more', async () => {
  await set();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(detached).toBe(0);
  await debugging.answer('debug_remove', { ...caller, id: 'bp-1' });
  await vi.advanceTimersByTimeAsync(59_000);
  expect(detached).toBe(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(detached).toBe(1);
  expect(sent.at(-1)).toBe('Debugger.disable');
  expect(await state()).toEqual({ threads: [{ id: 1, kind: 'page', url: 'http://localhost/' }] });
});

test('what cannot be meant is refused', async () => {
  await expect(debugging.answer('debug_state', { tab: '7' })).rejects.toMatchObject({ code: 'invalid' });
  await expect(debugging.answer('debug_dance', caller)).rejects.toMatchObject({ code: 'unknown_type' });
  await expect(debugging.answer('debug_run', { ...caller, kind: 'resume' })).rejects.toThrow(
    'not being debugged',
  );
  await set();
  await expect(debugging.answer('debug_run', { ...caller, kind: 'resume' })).rejects.toThrow(
    'Nothing is paused',
  );
  await expect(debugging.answer('debug_run', { ...caller, kind: 'over', thread: 9 })).rejects.toThrow(
    'no thread 9',
  );
});

const second = { ...caller, by: 'codex', client: 2 };
const first = { ...caller, client: 1 };

/** What two agents, of whom the first leaves, may have done to a page that is paused. */
function paused(hitBreakpoints: string[], reason = 'other'): void {
  const location = { scriptId: '1', lineNumber: 3, columnNumber: 0 };
  debugging.event({ tabId: 7 }, 'Debugger.paused', {
    reason,
    hitBreakpoints,
    callFrames: [{ callFrameId: '0', functionName: 'total', location, url: 'http://localhost/app.js' }],
  });
}

test.each([
  ['its breakpoint', async () => paused(['1:3:0:app.js']), [1], undefined],
  ['the breakpoints of both', async () => paused(['1:3:0:app.js']), [1, 2], 'codex'],
  ['the other breakpoint', async () => paused(['1:3:0:app.js']), [2], 'codex'],
  [
    'its wish',
    async () => {
      await debugging.answer('debug_run', { ...first, kind: 'pause' });
      paused([]);
    },
    [],
    undefined,
  ],
  [
    'its wish for exceptions',
    async () => {
      await debugging.answer('debug_run', { ...first, kind: 'exceptions', exceptions: 'all' });
      paused([], 'exception');
    },
    [],
    undefined,
  ],
  [
    'exceptions that both wish for',
    async () => {
      await debugging.answer('debug_run', { ...first, kind: 'exceptions', exceptions: 'all' });
      await debugging.answer('debug_run', { ...second, kind: 'exceptions', exceptions: 'uncaught' });
      paused([], 'exception');
    },
    [],
    'codex',
  ],
  ['a statement of the page', async () => paused([]), [], 'page'],
] as const)('an agent leaves a page that %s paused', async (_, pause, setBy, stays) => {
  await bySecond();
  for (const client of setBy)
    await debugging.answer('debug_breakpoint', {
      ...(client === 1 ? first : second),
      breakpoint: { ...breakpoint, id: `bp-${client}`, client },
    });
  await pause();
  await vi.waitFor(() => expect(debugging.paused(7)).toBeDefined());
  await debugging.answer('debug_leave', first);
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7) !== undefined).toBe(stays !== undefined);
  if (stays === undefined)
    expect((await state()).threads[0]).toMatchObject({ resumed: { how: 'agent_left' } });
  expect(detached).toBe(0);
  expect(debugging.session(7)?.breakpoints.all.has('bp-1')).toBe(false);
  expect(debugging.session(7)?.breakpoints.all.has('bp-9')).toBe(true);
  if (stays === 'codex') {
    const [thread] = (await state()).threads;
    expect(thread?.paused).toMatchObject({ by: 'codex' });
    expect(thread?.paused?.hit ?? []).not.toContain('bp-1');
    await debugging.answer('debug_leave', second);
    expect(debugging.paused(7)).toBeUndefined();
  }
});

/** Has the browser carry out a command only when the function that comes back is called. */
function delay(delayed: string): () => void {
  let carryOut: () => void = () => undefined;
  const carriedOut = new Promise<void>((resolve) => {
    carryOut = resolve;
  });
  before = async (method) => {
    if (method === delayed) await carriedOut;
  };
  return carryOut;
}

const bySecond = () =>
  debugging.answer('debug_breakpoint', {
    ...second,
    breakpoint: { id: 'bp-9', client: 2, places: [{ url: 'http://localhost/other.js', line: 1 }] },
  });

test.each([
  [
    'its breakpoint',
    'Debugger.removeBreakpoint',
    async () => {
      await debugging.answer('debug_breakpoint', { ...first, breakpoint: { ...breakpoint, client: 1 } });
      paused(['1:3:0:app.js']);
    },
  ],
  [
    'its exceptions',
    'Debugger.setPauseOnExceptions',
    async () => {
      await debugging.answer('debug_run', { ...first, kind: 'exceptions', exceptions: 'all' });
      paused([], 'exception');
    },
  ],
] as const)('a page goes on from %s once the browser has taken that out', async (_, takes, pause) => {
  await bySecond();
  await pause();
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ by: 'claude' }));
  const carryOut = delay(takes);
  sent = [];
  const left = debugging.answer('debug_leave', first);
  await vi.advanceTimersByTimeAsync(100);
  expect(sent).toEqual([takes]);
  carryOut();
  await left;
  expect(sent).toEqual([takes, 'Debugger.resume']);
  expect((await state()).threads[0]).toMatchObject({ resumed: { how: 'agent_left' } });
});

test.each([
  ['a breakpoint', 'Debugger.removeBreakpoint', ['1:3:0:app.js'], 'other'],
  ['exceptions', 'Debugger.setPauseOnExceptions', [], 'exception'],
] as const)(
  'a stop at %s that the browser has yet to take out is no pause',
  async (_, takes, hit, reason) => {
    await bySecond();
    await debugging.answer('debug_breakpoint', { ...first, breakpoint: { ...breakpoint, client: 1 } });
    await debugging.answer('debug_run', { ...first, kind: 'exceptions', exceptions: 'all' });
    const carryOut = delay(takes);
    const left = debugging.answer('debug_leave', first);
    await vi.advanceTimersByTimeAsync(0);
    sent = [];
    paused([...hit], reason);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toContain('Debugger.resume');
    expect(debugging.paused(7)).toBeUndefined();
    carryOut();
    await left;
  },
);

test('a breakpoint that is hit before the browser answers that it is set pauses', async () => {
  await bySecond();
  const carryOut = delay('Debugger.setBreakpointByUrl');
  const answered = set();
  await vi.advanceTimersByTimeAsync(0);
  pauses();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).not.toContain('Debugger.resume');
  carryOut();
  await answered;
  expect(debugging.paused(7)).toMatchObject({ reason: 'breakpoint' });
});

test('a stop at a breakpoint that was removed meanwhile is no pause', async () => {
  await set();
  await debugging.answer('debug_remove', { ...caller, id: 'bp-1' });
  sent = [];
  paused(['1:3:0:app.js']);
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual(['Debugger.resume']);
  expect(debugging.paused(7)).toBeUndefined();
});

test('a step is the pause of whoever steps', async () => {
  await debugging.answer('debug_breakpoint', { ...first, breakpoint: { ...breakpoint, client: 1 } });
  paused(['1:3:0:app.js']);
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ by: 'claude' }));
  await debugging.answer('debug_run', { ...second, kind: 'over' });
  paused([], 'step');
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ by: 'codex', reason: 'step' }));
  await debugging.answer('debug_leave', first);
  expect(debugging.paused(7)).toBeDefined();
  await debugging.answer('debug_leave', second);
  expect(debugging.paused(7)).toBeUndefined();
});

test('a step that did not end while its call waited pauses nothing later', async () => {
  await debugging.answer('debug_breakpoint', { ...first, breakpoint: { ...breakpoint, client: 1 } });
  paused(['1:3:0:app.js']);
  await vi.waitFor(() => expect(debugging.paused(7)).toBeDefined());
  const answer = debugging.answer('debug_run', { ...first, kind: 'out', wait_ms: 3000 });
  await vi.advanceTimersByTimeAsync(3000);
  expect((await answer) as DebugState).toMatchObject({ threads: [{ id: 1 }] });
  sent = [];
  paused([], 'step');
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7)).toBeUndefined();
  expect(sent).toEqual(['Debugger.resume']);
  paused(['1:3:0:app.js']);
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ reason: 'breakpoint' }));
});

test('a pause that comes about after the agent that asked for it has left is no pause', async () => {
  await debugging.answer('debug_run', { ...first, kind: 'pause' });
  await debugging.answer('debug_breakpoint', { ...second, breakpoint: { ...breakpoint, client: 2 } });
  await debugging.answer('debug_leave', first);
  sent = [];
  paused([]);
  await vi.advanceTimersByTimeAsync(0);
  expect(debugging.paused(7)).toBeUndefined();
  expect(sent).toEqual(['Debugger.resume']);
  paused(['1:3:0:app.js']);
  await vi.waitFor(() => expect(debugging.paused(7)).toMatchObject({ by: 'codex' }));
});

test('the next life of the worker knows whose a breakpoint is', async () => {
  await debugging.answer('debug_breakpoint', { ...first, breakpoint: { ...breakpoint, client: 1 } });
  await debugging.answer('debug_run', { ...first, kind: 'exceptions', exceptions: 'all' });
  const before = structuredClone(memory);
  debugging.detached(7, 'target_closed');
  await debugging.restore(before);
  await debugging.answer('debug_leave', first);
  expect(debugging.session(7)?.breakpoints.all.size).toBe(0);
  expect(debugging.session(7)?.exceptions.size).toBe(0);
});
