import { expect, test } from 'vitest';
import { owners, type Placed } from './frames';

const top = (...slots: Partial<Placed['slots'][0]>[]): Placed => ({
  frame: 0,
  parent: -1,
  document: 'top',
  index: -1,
  url: 'https://a.test/',
  size: '800 600',
  slots: slots.map((slot, i) => ({
    id: i + 1,
    index: -1,
    url: '',
    size: '300 150',
    expected: true,
    ...slot,
  })),
});
const inner = (frame: number, placed: Partial<Placed> = {}): Placed => ({
  frame,
  parent: 0,
  document: `d${frame}`,
  index: -1,
  url: 'https://b.test/',
  size: '300 150',
  slots: [],
  ...placed,
});
const found = (...places: Placed[]) => [...owners(places).owner].sort(([a], [b]) => a - b);

test('a document that the page may look into is found by its name, whatever the places say', () => {
  const page = top({ document: 'd8', index: 0 }, { document: 'd7', index: 1 });
  expect(found(page, inner(7, { index: 0 }), inner(8, { index: 1 }))).toEqual([
    [7, 2],
    [8, 1],
  ]);
});

test('other frames are found by their place', () => {
  expect(found(top({ index: 1 }, { index: 0 }), inner(7, { index: 0 }), inner(8, { index: 1 }))).toEqual([
    [7, 2],
    [8, 1],
  ]);
});

test('in shadow roots the address and the size decide, and what could be either stands nowhere', () => {
  const page = top(
    { url: 'https://b.test' },
    { url: 'https://b.test', size: '10 20' },
    { url: 'https://c.test/' },
  );
  expect(
    found(page, inner(7), inner(8, { size: '10 20' }), inner(9, { url: 'https://c.test/', size: '1 1' })),
  ).toEqual([
    [7, 1],
    [8, 2],
    [9, 3],
  ]);
  expect(owners([top({ url: 'https://b.test/' }, { url: 'https://b.test/' }), inner(7), inner(8)])).toEqual({
    owner: new Map(),
    missing: [],
    open: ['https://b.test/', 'https://b.test/'],
    unsure: ['https://b.test/', 'https://b.test/'],
  });
});

test('no element shows two frames', () => {
  expect(found(top({ index: 0 }), inner(7, { index: 0 }), inner(8, { index: 0 }))).toEqual([]);
});

test('a frame that an element shows and nobody has heard of is missing, unless it is known to be unread', () => {
  const page = top({ index: 0 }, { index: 1, url: 'https://c.test/' }, { index: 2, expected: false });
  expect(owners([page, inner(7, { index: 0 })]).missing).toEqual(['https://c.test/']);
  const unread = { parent: 0, url: 'about:blank' };
  expect(owners([page, inner(7, { index: 0 })], [unread]).missing).toEqual([]);
});

test('of those that show no known frame, the ones that were not read are told by their addresses', () => {
  const page = top({ url: 'https://b.test/' }, { url: 'blob:x' }, { url: 'https://c.test/' });
  const unread = [
    { parent: 0, url: 'https://c.test/' },
    { parent: 0, url: 'about:blank' },
  ];
  expect(owners([page], unread).missing).toEqual(['blob:x']);
});
