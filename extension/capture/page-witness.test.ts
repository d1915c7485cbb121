import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PageRecord } from '../page/records';
import type { AnyEvent } from '../protocol';
import { PageWitness } from './page-witness';

const T = 1795213240000;
let told: AnyEvent[];
let witness: PageWitness;

beforeEach(() => {
  vi.useFakeTimers({ now: T });
  told = [];
  witness = new PageWitness(7, (event) => told.push(event));
});
afterEach(() => vi.useRealTimers());

const says = (...records: PageRecord[]) => witness.take(0, [`${records.length} ${JSON.stringify(records)}`]);
const broken = (url: string): PageRecord => ['resource', T, 'img', url, false];
const thrown = (text: string): PageRecord => [
  'thrown',
  T,
  'exception',
  text,
  0,
  'http://localhost/a.js',
  2,
  3,
  '',
  false,
];
const answered = (url: string, status: number, mime = ''): void =>
  witness.note({
    kind: 'network',
    at: T,
    tab: 7,
    id: url,
    method: 'GET',
    url,
    resource: 'image',
    status,
    started: T,
    duration: 1,
    mime,
  });
const texts = () => told.map((event) => (event.kind === 'console' ? event.text : event.kind));

test('an image that arrived and is none is told, with what came', () => {
  answered('http://localhost/logo.png?token=[masked]', 200, 'text/html');
  says(broken('http://localhost/logo.png?token=abcdefghijklm#a'));
  expect(told).toEqual([]);
  vi.advanceTimersByTime(400);
  expect(texts()).toEqual([
    "Failed to load <img> http://localhost/logo.png?token=[masked]#a: it came with the MIME type 'text/html'",
  ]);
  expect(told[0]).toMatchObject({ level: 'error', via: 'browser', tab: 7 });
});

test('one whose failure the debugger tells is told once, whoever is first', () => {
  answered('http://localhost/a.png', 404);
  says(broken('http://localhost/a.png'), broken('http://localhost/b.png'));
  answered('http://localhost/b.png', 500);
  witness.settle();
  expect(told).toEqual([]);
});

test('an error that the debugger tells is told once, another one is told', () => {
  says(thrown('Error: seen'), thrown('Error: on the way out'));
  witness.note({
    kind: 'console',
    at: T + 20,
    tab: 7,
    level: 'error',
    via: 'exception',
    text: 'Error: seen',
  });
  witness.settle();
  expect(texts()).toEqual(['Error: on the way out']);
  expect(told[0]).toMatchObject({ via: 'exception', line: 2 });
});

test('what the page logs on its way out is told once, be it told by the debugger too', () => {
  const logs = (text: string, at: number): PageRecord => ['log', at, 'error', text, 0, '', ''];
  const seen = { kind: 'console', tab: 7, level: 'error', via: 'console', text: 'not saved' } as const;
  witness.note({ ...seen, at: T - 300 });
  says(logs('not saved', T));
  witness.settle();
  expect(texts()).toEqual(['not saved']);
  expect(told[0]).toMatchObject({ via: 'console', level: 'error', left: true });
  says(logs('not saved', T + 500));
  witness.note({ ...seen, at: T + 501 });
  witness.settle();
  expect(texts()).toEqual(['not saved']);
});

test('what a page forges is no record, and what was lost is a gap', () => {
  witness.take(0, ['1 {"a":1}', 'nonsense', '1 [["resource"]]', '1 [["thrown",1,"exception",null]]'], 3);
  witness.settle();
  expect(texts()).toEqual(['gap']);
  expect(told[0]).toMatchObject({ reason: 'dropped', dropped: 3 });
});
