import { describe, expect, test, vi } from 'vitest';
import type { AnyEvent } from '../protocol';
import { checkEvent } from '../protocol-check';
import { type DebuggerAPI, DebuggerSource } from './debugger';
import { WebRequestWitness } from './webrequest';

/** One event as Chromium sent it; `tab` is absent where there is only one. */
interface Recorded {
  tab?: number;
  session?: string;
  method: string;
  params: { frameId?: string; frame?: { id: string } };
}

const recordings = import.meta.glob<Recorded[]>('./testdata/*.json', { import: 'default', eager: true });
const START = 1795213240751;

/** A tab whose page is still to come, or, where the recording does not show it coming, has just come. */
class FakeBrowser implements DebuggerAPI {
  readonly sent: { tab: number; session: string | undefined; method: string }[] = [];
  readonly #comes: boolean;
  readonly #frame: string;

  constructor(recorded: readonly Recorded[]) {
    this.#comes = recorded.some(
      ({ method, session }) => method === 'Page.frameNavigated' && session === undefined,
    );
    this.#frame = recorded.find(({ params }) => params.frameId !== undefined)?.params.frameId ?? '';
  }

  attach = async (): Promise<void> => undefined;
  detach = async (): Promise<void> => undefined;

  sendCommand = async (target: { tabId: number; sessionId?: string }, method: string): Promise<unknown> => {
    this.sent.push({ tab: target.tabId, session: target.sessionId, method });
    switch (method) {
      case 'Runtime.evaluate':
        return {
          result: {
            value: {
              url: this.#comes ? 'about:blank' : 'http://127.0.0.1:8123/page',
              origin: START - 50.5,
              fresh: true,
              type: 'navigate',
            },
          },
        };
      case 'Page.getFrameTree':
        return { frameTree: { frame: { id: this.#comes ? 'other' : this.#frame } } };
      case 'Network.getResponseBody':
        return { body: '{"ok":true,"token":"abc123secretvalue"}', base64Encoded: false };
      default:
        return {};
    }
  };
}

async function replay(recorded: readonly Recorded[]): Promise<{ events: AnyEvent[]; browser: FakeBrowser }> {
  vi.useFakeTimers({ now: START });
  const events: AnyEvent[] = [];
  const browser = new FakeBrowser(recorded);
  const witness = new WebRequestWitness(() => true);
  const source = new DebuggerSource(browser, {
    emit: (event) => events.push(event),
    witness,
    targets: { getTargets: async () => [], attach: async () => undefined, detach: async () => undefined },
    flush: async () => undefined,
  });
  const tabs = [...new Set(recorded.map(({ tab }) => tab ?? 1))];
  const allowed = (url: string): boolean => url.startsWith('http');
  await Promise.all(tabs.map((tab) => source.start(tab, { replayFrom: 0, allowed })));
  for (const { tab, session, method, params } of recorded) {
    source.event({ tabId: tab ?? 1, sessionId: session }, method, params);
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(2000);
  vi.useRealTimers();
  return { events, browser };
}

/** What a reader wants to see of an event: all but times, stacks and headers. */
function line(event: AnyEvent): string {
  const { kind, at: _, tab, ...rest } = event;
  const hidden = new Set(['stack', 'request_headers', 'response_headers', 'started', 'duration']);
  return `${tab} ${kind} ${JSON.stringify(rest, (key, value: unknown) => (hidden.has(key) ? undefined : value))}`;
}

describe.each(Object.entries(recordings))('%s', (path, recorded) => {
  test('becomes these events', async () => {
    const { events } = await replay(recorded);
    expect(events.map(checkEvent).filter(Boolean)).toEqual([]);
    await expect(`${events.map(line).join('\n')}\n`).toMatchFileSnapshot(path.replace('.json', '.events'));
  });
});

test('every request that began is ended once', async () => {
  for (const recorded of Object.values(recordings)) {
    const open = new Map<string, number>();
    for (const event of (await replay(recorded)).events) {
      if (event.kind === 'request') open.set(event.id, (open.get(event.id) ?? 0) + 1);
      if (event.kind === 'network') open.set(event.id, (open.get(event.id) ?? 0) - 1);
    }
    expect([...open.values()].filter((n) => n < 0)).toEqual([]);
  }
});

test('a worker that waits for the debugger is let go after it was made to report', async () => {
  const { browser } = await replay(recordings['./testdata/worker-throws.json'] ?? []);
  const worker = browser.sent.filter(({ session }) => session !== undefined).map(({ method }) => method);
  expect(worker).toEqual([
    'Network.enable',
    'Target.setAutoAttach',
    'Runtime.enable',
    'Runtime.setMaxCallStackSizeToCapture',
    'Debugger.setAsyncCallStackDepth',
    'Log.enable',
    'Runtime.runIfWaitingForDebugger',
    'Network.getResponseBody',
  ]);
});

test('of two tabs with the same service worker one reports for it', async () => {
  const { events } = await replay(recordings['./testdata/service-worker.json'] ?? []);
  const said = events.filter((event) => event.kind === 'console' && event.target === 'service_worker');
  expect(new Set(said.map(({ tab }) => tab)).size).toBe(1);
});
