import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnyEvent } from '../protocol';
import { EventQueue, MAX_EVENTS } from './queue';

const log = (n: number, text = ''): AnyEvent => ({
  kind: 'console',
  at: 1_795_213_240_000 + n,
  tab: 7,
  level: 'log',
  via: 'console',
  text: text || String(n),
});

const number = (event: AnyEvent): number => event.at - 1_795_213_240_000;

test('numbers begin at one and go on over batches', () => {
  const queue = new EventQueue();
  for (let n = 1; n <= 5; n++) queue.push(log(n));
  expect(queue.take(3, 1 << 20)).toMatchObject({
    first: 1,
    events: [{ text: '1' }, { text: '2' }, { text: '3' }],
  });
  expect(queue.take(3, 1 << 20)).toMatchObject({ first: 4 });
  expect(queue.take(3, 1 << 20)).toBeUndefined();
});

test('a batch ends at its bytes but holds at least one event', () => {
  const queue = new EventQueue();
  queue.push(log(1, 'x'.repeat(5000)));
  queue.push(log(2));
  expect(queue.take(10, 1000)?.events).toHaveLength(1);
});

test('what was not acknowledged is sent again, from where the host says', () => {
  const queue = new EventQueue();
  for (let n = 1; n <= 6; n++) queue.push(log(n));
  queue.take(4, 1 << 20);
  queue.ack(3);
  expect(queue.first).toBe(3);
  queue.rewind(4);
  expect(queue.first).toBe(4);
  expect(queue.take(10, 1 << 20)).toMatchObject({
    first: 4,
    events: [{ text: '4' }, { text: '5' }, { text: '6' }],
  });
});

test('an acknowledgement from before is nothing new', () => {
  const queue = new EventQueue();
  queue.push(log(1));
  queue.take(1, 1 << 20);
  queue.ack(2);
  queue.ack(1);
  queue.ack(99);
  expect(queue.first).toBe(2);
  expect(queue.length).toBe(0);
});

test('overflow drops the oldest unsent and tells it in their place', () => {
  const queue = new EventQueue();
  for (let n = 1; n <= 3; n++) queue.push(log(n));
  queue.take(3, 1 << 20);
  for (let n = 4; n <= MAX_EVENTS + 10; n++) queue.push(log(n));
  expect(queue.length).toBe(MAX_EVENTS);
  expect(queue.dropped).toBe(10);
  const batch = queue.take(2, 1 << 20);
  expect(batch?.first).toBe(4);
  expect(batch?.events[0]).toMatchObject({ kind: 'gap', reason: 'dropped', tab: 7, dropped: 10 });
  expect(number(batch?.events[1] as AnyEvent)).toBe(14);
});

test('bytes overflow as well, and a gap is never dropped: it may end one that is open', () => {
  const queue = new EventQueue();
  queue.push({ kind: 'gap', at: 2, tab: 7, from: 1, to: 2, reason: 'late_attach' });
  for (let n = 1; n <= 20; n++) queue.push(log(n, 'x'.repeat(1 << 20)));
  const first = queue.take(2, 1 << 20)?.events;
  expect(first?.[0]).toMatchObject({ kind: 'gap', reason: 'dropped' });
  expect(first?.[1]).toMatchObject({ kind: 'gap', reason: 'late_attach', from: 1, to: 2 });
  expect(queue.dropped).toBeGreaterThan(3);
});

test('the host sets the pace: more than eight megabytes wait for an acknowledgement', () => {
  const queue = new EventQueue();
  for (let n = 1; n <= 15; n++) queue.push(log(n, 'x'.repeat(1 << 20)));
  let sent = 0;
  for (let batch = queue.take(1, 1); batch !== undefined; batch = queue.take(1, 1)) sent++;
  expect(sent).toBe(8);
  queue.ack(9);
  expect(queue.take(1, 1)?.first).toBe(9);
});

test('whatever happens, each event is sent in order, or counted', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('push' as const), n: fc.integer({ min: 1, max: 9000 }) }),
    fc.record({ do: fc.constant('send' as const), n: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ do: fc.constant('ack' as const), n: fc.integer({ min: 0, max: 300 }) }),
    fc.record({ do: fc.constant('reconnect' as const), n: fc.integer({ min: 0, max: 300 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const queue = new EventQueue();
      const host = new Map<number, AnyEvent>();
      let pushed = 0;
      let next = 1;
      const receive = (n: number): void => {
        const batch = queue.take(n, 1 << 30);
        batch?.events.forEach((event, i) => {
          host.set(batch.first + i, event);
        });
        while (host.has(next)) next++;
      };
      for (const { do: what, n } of steps) {
        if (what === 'push') for (let i = 0; i < n; i++) queue.push(log(++pushed));
        if (what === 'send') receive(n);
        if (what === 'ack') queue.ack(next - Math.min(n, next - queue.first));
        if (what === 'reconnect') queue.rewind(next - Math.min(n, next - queue.first));
      }
      for (let before = -1; before !== next; ) {
        before = next;
        queue.rewind(next);
        receive(1 << 20);
      }
      const got = [...host].sort(([a], [b]) => a - b).map(([, event]) => event);
      const counted = got.reduce((sum, event) => sum + (event.kind === 'gap' ? (event.dropped ?? 0) : 1), 0);
      const numbers = got.filter((event) => event.kind === 'console').map(number);
      expect([...host.keys()].every((key) => key < next)).toBe(true);
      expect(counted).toBe(pushed);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }),
    { numRuns: 60 },
  );
});
