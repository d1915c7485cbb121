import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  readBreakpointParams,
  readCaller,
  readExceptions,
  readRunParams,
  readStateParams,
  readStep,
  readTraceParams,
  readVariablesParams,
} from './requests';

const caller = { tab: 7, by: 'claude', release_ms: 60_000 };

test('what the protocol says is read as it is', () => {
  const variables = { ...caller, client: 2, frame: 1, scopes: ['local'], path: [{ k: 'name', n: 'cart' }] };
  expect(readVariablesParams('debug_variables', variables)).toEqual(variables);
  const breakpoint = { id: 'bp-1', places: [{ url: 'http://localhost/app.js', line: 4 }] };
  expect(readBreakpointParams('debug_breakpoint', { ...caller, breakpoint })).toEqual({
    ...caller,
    breakpoint,
  });
  expect(readStateParams('debug_state', caller)).toEqual(caller);
});

test('a caller is read alone, without what else was sent', () => {
  const sent = { ...caller, client: 3, evaluate: true, kind: 'pause', exceptions: 'all' };
  expect(readCaller('debug_run', sent)).toEqual({ ...caller, client: 3, evaluate: true });
  expect(readCaller('debug_run', { ...caller, evaluate: false, client: null })).toEqual(caller);
});

test('what is missing or of another kind is named', () => {
  const run = (params: unknown) => () => readRunParams('debug_run', params);
  expect(run(null)).toThrow('debug_run: the parameters must be an object.');
  expect(run({ ...caller })).toThrow('debug_run: kind must be a string.');
  expect(run({ ...caller, kind: 'pause', thread: '1' })).toThrow('debug_run: thread must be a number.');
  const trace = { ...caller, id: 't', places: {}, limit: 1, wait_ms: 0 };
  expect(() => readTraceParams('debug_trace', trace)).toThrow('debug_trace: places must be a list.');
  const breakpoint = { ...caller, breakpoint: [] };
  expect(() => readBreakpointParams('debug_breakpoint', breakpoint)).toThrow('breakpoint must be an object.');
  expect(() => readCaller('debug_state', { ...caller, by: 7 })).toThrow('requires tab, by and release_ms.');
  expect(() => readExceptions('most')).toThrow('"most"');
  expect(() => readStep('sideways')).toThrow('"sideways"');
});

test('whatever is sent is read or refused as invalid', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.record({ tab: fc.anything(), by: fc.anything() })), (params) => {
      for (const read of [readCaller, readRunParams, readTraceParams, readVariablesParams]) {
        try {
          expect(read('debug', params)).toMatchObject({ tab: expect.any(Number), by: expect.any(String) });
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid' });
        }
      }
    }),
  );
});
