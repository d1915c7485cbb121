import { describe, expect, it } from 'vitest';
import type { Call, Turn } from '../../../../extension/sessiontree';
import { rowsOf } from './model';

const at = (second: number): string => `2026-03-04T05:06:${String(second).padStart(2, '0')}.000Z`;

function call(callId: string, second: number, files: string[] = [], calls: Call[] = []): Call {
  return {
    callId,
    title: callId,
    at: at(second),
    files: files.map((path) => ({ path, change: 'modified' })),
    calls,
  };
}

const turns: Turn[] = [
  { at: at(1), prompt: 'one', calls: [call('a', 2, ['x']), call('b', 3, [], [call('sub', 4, ['y'])])] },
  { at: at(5), prompt: 'two', calls: [call('c', 6), call('d', 7, ['x'])] },
];

describe('rows of a conversation', () => {
  it('has prompts, calls and calls of subagents in their order', () => {
    expect(rowsOf(turns).map(({ turn, call, depth }) => `${depth} ${call?.title ?? turn.prompt}`)).toEqual([
      '0 one',
      '0 a',
      '0 b',
      '1 sub',
      '0 two',
      '0 c',
      '0 d',
    ]);
  });

  it('ends the report after a call where the next one changes files', () => {
    const until = Object.fromEntries(rowsOf(turns).map(({ call, until }) => [call?.title ?? '', until]));
    expect(until).toMatchObject({ a: at(4), sub: at(7), d: undefined, c: undefined });
  });

  it('keeps IDs when older rows are left out, and has each once', () => {
    const all = rowsOf([...turns, ...turns]).map(({ id }) => id);
    expect(new Set(all).size).toBe(all.length);
    const before = new Set(rowsOf(turns).map(({ id }) => id));
    for (const { id } of rowsOf(turns.slice(1))) expect(before).toContain(id);
  });
});
