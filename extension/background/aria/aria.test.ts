import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MASK } from '../../redact/redact';
import { aria, readAriaParams } from './aria';

type Frame = { frameId: number; parentFrameId: number; documentLifecycle: string; url: string };
type Target = { target: { tabId: number; frameIds: number[] }; files?: string[]; func?: unknown };

let frames: Frame[] | null;
/** What each frame says: a string once the script is in it, undefined before, or a promise that never ends. */
let says: Map<number, unknown>;
/** What a frame answers that is asked whether it is still reading. */
let answering: () => Promise<unknown>;
let injected: number[];
let committed: ((details: { tabId: number; frameId: number }) => void)[];

const frame = (frameId: number, parentFrameId: number, documentLifecycle = 'active'): Frame => ({
  frameId,
  parentFrameId,
  documentLifecycle,
  url: 'https://a.test/',
});
const PLACE = { document: 'd', index: -1, url: '', size: '', slots: [] };
const look = (nodes: unknown[] = []): string =>
  JSON.stringify({
    document: 'd',
    url: '',
    title: '',
    since: 0,
    version: 1,
    root: 1,
    nodes,
    left: 0,
    place: PLACE,
  });

beforeEach(() => {
  frames = [frame(0, -1)];
  says = new Map([[0, look()]]);
  answering = () => new Promise(() => undefined);
  injected = [];
  committed = [];
  vi.stubGlobal('chrome', {
    webNavigation: {
      getAllFrames: () => Promise.resolve(frames),
      onCommitted: {
        addListener: (listener: (typeof committed)[0]) => committed.push(listener),
        removeListener: (listener: (typeof committed)[0]) => {
          committed = committed.filter((other) => other !== listener);
        },
      },
    },
    scripting: {
      executeScript: async ({ target, files, func }: Target) => {
        const [id = -1] = target.frameIds;
        if (files !== undefined) {
          injected.push(id);
          says.set(id, look());
          return [];
        }
        if (String(func).includes('tidemarkPlaces')) {
          return [{ result: JSON.stringify(PLACE) }];
        }
        if (String(func).endsWith('=> true')) return [{ result: await answering() }];
        const said = says.get(id);
        if (said instanceof Error) throw said;
        return [{ result: await said }];
      },
    },
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const params = { tab: 7, known: [], timeout_ms: 100 };

test('the top frame comes first, and a frame that cannot be read is counted', async () => {
  frames = [frame(5, 0), frame(0, -1), frame(6, 0), frame(9, -1, 'prerender')];
  says.set(5, look());
  says.set(6, new Error('Cannot access contents of the page'));
  const result = await aria(params);
  expect(result.frames.map(({ frame, parent }) => [frame, parent])).toEqual([
    [0, -1],
    [5, 0],
  ]);
  expect(result.unread).toEqual(['https://a.test/']);
});

test('the script is brought to a frame that has none', async () => {
  says.delete(0);
  expect((await aria(params)).frames).toHaveLength(1);
  expect(injected).toEqual([0]);
});

test('what looks like a secret is masked and counted', async () => {
  const token =
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
  says.set(0, look([{ i: 2, r: 'textbox', n: 'Key', v: token }]));
  const [top] = (await aria(params)).frames;
  expect(top?.nodes[0]).toEqual({ i: 2, r: 'textbox', n: 'Key', v: MASK });
  expect(top?.masked).toBe(1);
});

test('keys, titles and addresses have no secret', async () => {
  const href = 'href=/reset?token=hunter2-planted';
  const page = JSON.parse(look([{ i: 2, r: 'link', n: 'Reset', k: `id=a ${href}`, gk: [href] }]));
  says.set(
    0,
    JSON.stringify({ ...page, title: 'API key: a1b2c3d4-planted', url: 'https://a.test/?token=planted' }),
  );
  const [top] = (await aria(params)).frames;
  expect(JSON.stringify(top)).not.toContain('planted');
  expect(top?.title).toBe('API key: [masked]');
  expect(top?.nodes[0]?.k).toBe('id=a href=/reset?token=[masked]');
  expect(top?.url).toBe('https://a.test/?token=[masked]');
  expect(top?.masked).toBe(4);
});

test('a document that is left while it is read is not waited for', async () => {
  says.set(0, new Promise(() => undefined));
  const answer = aria(params);
  await Promise.resolve();
  await Promise.resolve();
  for (const listener of committed) listener({ tabId: 7, frameId: 0 });
  await expect(answer).rejects.toMatchObject({ code: 'unavailable' });
  expect(committed).toHaveLength(0);
});

test('a page that does not answer in time is an error', async () => {
  vi.useFakeTimers();
  says.set(0, new Promise(() => undefined));
  const answer = aria(params);
  const refused = expect(answer).rejects.toMatchObject({ message: /does not answer/ });
  await vi.advanceTimersByTimeAsync(5000);
  await refused;
});

test('a page that reads for long is waited for, and one in an endless loop is not', async () => {
  vi.useFakeTimers();
  let read: (text: unknown) => void = () => undefined;
  const reading = new Promise((resolve) => {
    read = resolve;
  });
  says.set(0, reading);
  answering = async () => true;
  const long = aria({ ...params, timeout_ms: 6000 });
  await vi.advanceTimersByTimeAsync(9000);
  read(look());
  expect((await long).frames).toHaveLength(1);
  answering = () => new Promise(() => undefined);
  says.set(0, new Promise(() => undefined));
  const endless = expect(aria({ ...params, timeout_ms: 6000 })).rejects.toMatchObject({
    message: /does not answer/,
  });
  await vi.advanceTimersByTimeAsync(6000);
  await endless;
});

test('a tab that is gone is an error', async () => {
  frames = null;
  await expect(aria(params)).rejects.toMatchObject({ code: 'unavailable' });
});

test('wrong parameters are refused', () => {
  for (const wrong of [undefined, {}, { tab: 'x', timeout_ms: 1 }, { tab: 1, timeout_ms: 0 }]) {
    expect(() => readAriaParams(wrong)).toThrow(/must be numbers/);
  }
  expect(readAriaParams({ tab: 1, timeout_ms: 5, known: 'x' })).toEqual({ tab: 1, timeout_ms: 5, known: [] });
});
