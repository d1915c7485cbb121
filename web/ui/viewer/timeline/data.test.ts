import { expect, test } from 'vitest';
import type { ViewTimeline } from '../../../../extension/protocol';
import { ERROR, HIDDEN, TimelineData, WARNING } from './data';
import { axisTime, lanesAt, rowsOf, zoomed } from './draw';
import { LANES, laneKind, laneName } from './lanes';

function answer(over: Partial<ViewTimeline>): ViewTimeline {
  return { now: 1000, start: 0, store: 's', lanes: [], first: {}, next: {}, marks: 'm', ...over };
}

test('lanes are read from differences, and read on from where they were left', () => {
  const data = new TimelineData();
  data.take(
    answer({
      lanes: [
        { lane: 'console', position: 5, time: 100, times: [0, 10, 5], positions: [0, 1, 3], marks: '021' },
      ],
    }),
  );
  data.take(answer({ lanes: [{ lane: 'console', position: 10, time: 200, times: [0, 1], marks: '30' }] }));
  const lane = data.lane('console');
  expect([...lane.times.slice(0, lane.length)]).toEqual([100, 110, 115, 200, 201]);
  expect([...lane.positions.slice(0, lane.length)]).toEqual([5, 6, 9, 10, 11]);
  expect([...lane.marks.slice(0, lane.length)]).toEqual([0, ERROR, WARNING, HIDDEN, 0]);
  expect(data.count).toBe(5);
});

test('what the host no longer holds is forgotten, so that memory does not grow with time', () => {
  const data = new TimelineData();
  for (let round = 0; round < 50; round++) {
    const position = round * 2000 + 1;
    const times = Array.from({ length: 2000 }, () => 1);
    data.take(
      answer({
        lanes: [{ lane: 'network', position, time: round * 2000, times, marks: '0'.repeat(2000) }],
        first: { network: Math.max(1, position - 3000) },
      }),
    );
  }
  expect(data.lane('network').length).toBeLessThan(6100);
  expect(data.lane('network').times.length).toBeLessThan(20_000);
  expect(data.lane('network').positions[data.lane('network').length - 1]).toBe(100_000);
});

test('what has left the host is told apart from what never was', () => {
  const data = new TimelineData();
  data.take(answer({ held: { console: 500 } }));
  expect([data.held.console, data.held.network]).toEqual([500, undefined]);
  data.take(answer({}));
  expect(data.held.console).toBeUndefined();
});

test('positions that began anew, as in another daemon, are read anew', () => {
  const data = new TimelineData();
  expect(data.take(answer({ next: { console: 7 } }))).toBe(true);
  expect(data.take(answer({ store: 'other' }))).toBe(false);
  expect([data.count, data.next]).toEqual([0, {}]);
  expect(data.take(answer({ store: 'other' }))).toBe(true);
});

test('gaps come with other marks, and one that goes on has no end', () => {
  const data = new TimelineData();
  data.take(answer({ gaps: [{ from: 1, reason: 'paused' }] }));
  expect(data.gaps).toEqual([{ from: 1, to: Number.POSITIVE_INFINITY, reason: 'paused', dropped: 0 }]);
  data.take(answer({}));
  expect(data.gaps).toHaveLength(1);
  data.take(answer({ marks: 'n' }));
  expect(data.gaps).toHaveLength(0);
});

test('under the pointer is the worst of what is near', () => {
  const data = new TimelineData();
  data.take(
    answer({ lanes: [{ lane: 'console', position: 1, time: 100, times: [0, 2, 2, 90], marks: '0210' }] }),
  );
  expect(data.nearest('console', 103, 5)).toMatchObject({ position: 2, mark: ERROR });
  expect(data.nearest('console', 150, 5)).toBeUndefined();
});

test('zooming keeps the moment under the pointer, and stays within bounds', () => {
  const span = zoomed({ from: 0, to: 1000 }, 0.5, 250);
  expect(span).toEqual({ from: 125, to: 625 });
  expect(zoomed({ from: 0, to: 30 }, 0.001, 10).to - zoomed({ from: 0, to: 30 }, 0.001, 10).from).toBeCloseTo(
    20,
  );
  const rows = rowsOf(LANES, false);
  expect(lanesAt(0, 186, rows)).toEqual([]);
  expect(lanesAt(30, 186, rows)).toEqual(['console']);
  expect(lanesAt(167, 186, rows)).toEqual(['calls']);
  expect(lanesAt(30, 68, rowsOf(LANES, true))).toHaveLength(6);
  expect(lanesAt(66, 68, rowsOf(LANES, true))).toEqual([]);
  expect(axisTime(new Date(2026, 0, 1, 9, 5, 7, 30).getTime(), 10)).toBe('09:05:07.030');
});

test('a lane that the table does not know is shown by its name, and its entries as text', () => {
  const data = new TimelineData();
  data.take(
    answer({ lanes: [{ lane: 'beats', position: 1, time: 5, times: [0], marks: '0' }], first: { beats: 1 } }),
  );
  expect(data.names).toEqual([...LANES, 'beats']);
  expect(data.count).toBe(1);
  expect(lanesAt(185, 209, rowsOf(data.names, false))).toEqual(['beats']);
  expect(laneName('beats')).toBe('beats');
  const entry = {
    lane: 'beats',
    position: 1,
    at: 5,
    tab: 0,
    mark: '0',
    kind: 'modified',
    text: 'src/cart.ts',
  };
  expect(laneKind('beats').gist(entry)).toBe('modified src/cart.ts');
});

test('the lane of files says what became of a file, and is shown only where files changed', () => {
  expect(LANES).not.toContain('files');
  expect(laneName('files')).toBe('Files');
  const entry = { lane: 'files', position: 1, at: 5, tab: 0, mark: '0', kind: 'renamed' };
  const { gist } = laneKind('files');
  expect(gist({ ...entry, from: 'src/basket.ts', text: 'src/cart.ts', value: '+2 -1', via: 'Edit' })).toBe(
    'renamed src/basket.ts → src/cart.ts +2 -1 by Edit',
  );
  expect(gist({ ...entry, kind: 'copied', text: 'a' })).toBe('copied a');
});
