import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SharedWorkerTargets, type TargetInfo, type WorkerHost } from './shared-workers';

const T = 1795213240000;
const ORIGIN = 'http://localhost:5173';

/** A tab that notes what it is asked. */
class Host implements WorkerHost {
  origin: string | undefined = ORIGIN;
  readonly did: string[] = [];
  begins = ({ targetId }: { targetId?: string | undefined }, from: number): void =>
    void this.did.push(`begins ${targetId} from ${from - T}`);
  ends = ({ targetId }: { targetId?: string | undefined }): void => void this.did.push(`ends ${targetId}`);
  event = (worker: string, method: string): void => void this.did.push(`${worker} ${method}`);
  blind = (worker: string): void => void this.did.push(`blind ${worker}`);
  seeing = (worker: string): void => void this.did.push(`seeing ${worker}`);
}

let running: TargetInfo[];
let refuses: boolean;
let attached: string[];
let hosts: Host[];
let workers: SharedWorkerTargets;

beforeEach(() => {
  vi.useFakeTimers({ now: T });
  running = [];
  refuses = false;
  attached = [];
  hosts = [new Host(), new Host()];
  workers = new SharedWorkerTargets(
    {
      getTargets: async () => running,
      attach: async ({ targetId }) => {
        if (refuses) throw new Error('Cannot access this target');
        attached.push(targetId);
      },
      detach: async ({ targetId }) => {
        attached = attached.filter((id) => id !== targetId);
      },
    },
    () => hosts,
    (target) => target === 'known',
  );
});
afterEach(() => vi.useRealTimers());

const runs = (id: string, url = `${ORIGIN}/shared.js`, title = 'shared', type = 'worker') =>
  running.push({ id, url, title, type });
const later = (ms = 2000) => vi.advanceTimersByTimeAsync(ms);

test('the tab that asked for the script reports for the worker, from then on', async () => {
  workers.asked(hosts[1] as Host, `${ORIGIN}/shared.js`);
  await later(100);
  runs('w');
  await later();
  expect(hosts.map(({ did }) => did)).toEqual([[], ['begins w from 0']]);
  workers.event('w', 'Runtime.exceptionThrown', {});
  workers.detached('w');
  expect(hosts[1]?.did.slice(1)).toEqual(['w Runtime.exceptionThrown', 'ends w']);
});

test('nothing of other origins, of service workers and of what tabs have sessions of', async () => {
  runs('elsewhere', 'http://localhost:9999/shared.js');
  runs('service', `${ORIGIN}/sw.js`, `Service Worker ${ORIGIN}/sw.js`);
  runs('known');
  runs('page', `${ORIGIN}/`, 'page', 'page');
  runs('opaque', 'data:text/javascript,1');
  workers.review();
  await later();
  expect(attached).toEqual([]);
});

test('another tab takes over, and the last one lets go', async () => {
  runs('w');
  workers.review();
  await later();
  const [first, second] = hosts as [Host, Host];
  expect(first.did).toEqual(['begins w from 100']);
  first.origin = 'http://elsewhere.test';
  workers.review();
  expect(first.did.at(-1)).toBe('ends w');
  expect(second.did).toHaveLength(1);
  hosts = [];
  workers.review();
  await later();
  expect(second.did.at(-1)).toBe('ends w');
  expect(attached).toEqual([]);
});

test('a worker that refuses is a gap once for each tab, until it is gone', async () => {
  refuses = true;
  runs('w');
  for (let i = 0; i < 3; i++) {
    workers.review();
    await later();
  }
  expect(hosts.map(({ did }) => did)).toEqual([['blind w'], ['blind w']]);
  running = [];
  workers.review();
  await later();
  expect(hosts.map(({ did }) => did.at(-1))).toEqual(['seeing w', 'seeing w']);
});
