import { expect, test } from 'vitest';
import { SharedDebugger } from './attachment';

/** A browser that counts its attachments. */
function browser(...refusals: string[]) {
  const calls: string[] = [];
  return {
    calls,
    attach: async () => {
      calls.push('attach');
      const refusal = refusals.shift();
      if (refusal !== undefined) throw new Error(refusal);
    },
    detach: async () => void calls.push('detach'),
    sendCommand: async () => ({}),
  };
}

test('two who need a tab share one attachment, and the last one detaches', async () => {
  const api = browser();
  const shared = new SharedDebugger(api);
  expect(shared.attached(7)).toBe(false);
  await Promise.all([shared.attach({ tabId: 7 }, '1.3'), shared.attach({ tabId: 7 }, '1.3')]);
  expect(shared.attached(7)).toBe(true);
  await shared.detach({ tabId: 7 });
  expect(api.calls).toEqual(['attach']);
  await shared.detach({ tabId: 7 });
  expect(api.calls).toEqual(['attach', 'detach']);
  expect(shared.attached(7)).toBe(false);
});

test('a session that was left behind is taken over', async () => {
  const api = browser('Another debugger is already attached to the tab with id: 7.');
  await new SharedDebugger(api).attach({ tabId: 7 }, '1.3');
  expect(api.calls).toEqual(['attach', 'detach', 'attach']);
});

test('a refusal is passed on to everybody, and the next one tries again', async () => {
  const api = browser('Cannot access a chrome:// URL');
  const shared = new SharedDebugger(api);
  const both = [shared.attach({ tabId: 7 }, '1.3'), shared.attach({ tabId: 7 }, '1.3')];
  for (const attempt of both) await expect(attempt).rejects.toThrow('chrome://');
  await shared.attach({ tabId: 7 }, '1.3');
  expect(shared.attached(7)).toBe(true);
});

test('a tab that the browser let go of is attached anew', async () => {
  const api = browser();
  const shared = new SharedDebugger(api);
  await shared.attach({ tabId: 7 }, '1.3');
  shared.detached(7);
  await shared.attach({ tabId: 7 }, '1.3');
  expect(api.calls).toEqual(['attach', 'attach']);
});
