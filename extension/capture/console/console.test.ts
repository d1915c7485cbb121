import type { Protocol } from 'devtools-protocol';
import { expect, test } from 'vitest';
import { checkEvent } from '../../protocol-check';
import { consoleCall, exception, logEntry, pageEntry } from './console';

const where = { tab: 7 };
const frame = (n: number): Protocol.Runtime.CallFrame => ({
  functionName: n === 0 ? '' : `f${n}`,
  scriptId: '1',
  url: 'http://localhost/app.js?token=abc123def456',
  lineNumber: n,
  columnNumber: 4,
});

function call(
  type: Protocol.Runtime.ConsoleAPICalledEvent['type'],
  text: string,
  frames = 1,
): Protocol.Runtime.ConsoleAPICalledEvent {
  return {
    type,
    args: [{ type: 'string', value: text }],
    executionContextId: 1,
    timestamp: 1795213240751.6,
    stackTrace: { callFrames: Array.from({ length: frames }, (_, n) => frame(n)) },
  };
}

test('levels', () => {
  expect(consoleCall(call('error', 'x'), where)?.level).toBe('error');
  expect(consoleCall(call('assert', 'x'), where)).toMatchObject({
    level: 'error',
    text: 'Assertion failed: x',
  });
  expect(consoleCall(call('assert', 'console.assert'), where)?.text).toBe('Assertion failed');
  expect(consoleCall(call('warning', 'x'), where)?.level).toBe('warning');
  expect(consoleCall(call('trace', 'x'), where)?.level).toBe('log');
  expect(consoleCall(call('endGroup', 'console.groupEnd'), where)).toBeUndefined();
});

test('the top frame, its line counted from one, secrets in its address masked', () => {
  const event = consoleCall(call('log', 'x', 20), where);
  expect(event).toMatchObject({
    at: 1795213240751,
    url: 'http://localhost/app.js?token=[masked]',
    line: 1,
    column: 5,
  });
  expect(event?.stack).toHaveLength(10);
  expect(event?.stack?.[0]).toBe('(anonymous) (http://localhost/app.js?token=[masked]:1:5)');
  expect(checkEvent(event)).toBeUndefined();
});

test('the hooks of quiet capture are no place', () => {
  const event = call('error', 'x', 2);
  event.stackTrace?.callFrames.unshift({ ...frame(2), url: 'tidemark-page.js' });
  expect(consoleCall(event, where)?.stack).toHaveLength(2);
  expect(consoleCall(event, where)?.line).toBe(1);
});

test('secrets are masked before the text is cut, and counted', () => {
  const secret = 'sk-abcdefghijklmnopqrstuvwxyz0123456789';
  const event = consoleCall(
    { ...call('log', `${'x'.repeat(8180)} ${secret} tail`), stackTrace: { callFrames: [] } },
    where,
  );
  expect(event?.masked).toBe(1);
  expect(event?.text.length).toBeLessThanOrEqual(8192);
  expect(event?.text).not.toContain('sk-abc');
  expect(event?.length).toBe(8180 + 1 + secret.length + 5);
});

test('a long text is cut between characters', () => {
  const event = consoleCall(call('log', `${'x'.repeat(8191)}🌊🌊`), where);
  expect(event?.text).toBe('x'.repeat(8191));
  expect(event?.length).toBe(8195);
});

test('exceptions and rejections without the browser’s prefix', () => {
  const details = (text: string, rest: Partial<Protocol.Runtime.ExceptionDetails>) =>
    exception(
      {
        timestamp: 1795213240751,
        exceptionDetails: { exceptionId: 1, text, lineNumber: 2, columnNumber: 3, ...rest },
      },
      where,
    );
  const error = { type: 'object', subtype: 'error', description: 'RangeError: no\n    at a.js:1:1' } as const;
  expect(details('Uncaught', { exception: error })).toMatchObject({
    via: 'exception',
    text: 'RangeError: no',
  });
  expect(details('Uncaught (in promise)', { exception: error })).toMatchObject({
    via: 'rejection',
    text: 'RangeError: no',
  });
  expect(details('Uncaught', { exception: { type: 'string', value: 'thrown' } }).text).toBe('thrown');
  expect(details('Uncaught SyntaxError: bad', { url: 'http://localhost/a.js' })).toMatchObject({
    text: 'SyntaxError: bad',
    url: 'http://localhost/a.js',
    line: 3,
    column: 4,
  });
});

test('an error without a frame is nowhere, and not in the first line of the document', () => {
  const thrown = (rest: Partial<Protocol.Runtime.ExceptionDetails>) =>
    exception(
      {
        timestamp: 1795213240751,
        exceptionDetails: {
          exceptionId: 1,
          text: 'Uncaught (in promise)',
          url: 'http://localhost/errs',
          lineNumber: 0,
          columnNumber: 0,
          exception: {
            type: 'object',
            subtype: 'error',
            description: 'AggregateError: All promises were rejected',
          },
          ...rest,
        },
      },
      where,
    );
  expect(thrown({})).not.toHaveProperty('url');
  expect(thrown({ scriptId: '7' })).not.toHaveProperty('url');
  expect(thrown({ scriptId: '7', text: 'Uncaught' })).toMatchObject({
    url: 'http://localhost/errs',
    line: 1,
  });
});

test('entries of the browser’s log', () => {
  const event = logEntry(
    {
      source: 'network',
      level: 'error',
      text: 'Failed to load resource: net::ERR_FAILED',
      timestamp: 1795213240751,
      url: 'http://localhost/x',
      networkRequestId: '5.1',
    },
    { tab: 7, target: 'iframe' },
  );
  expect(event).toEqual({
    kind: 'console',
    at: 1795213240751,
    tab: 7,
    level: 'error',
    via: 'browser',
    category: 'network',
    request: '5.1',
    text: 'Failed to load resource: net::ERR_FAILED',
    url: 'http://localhost/x',
    target: 'iframe',
  });
});

test('an error that is logged is at its own stack, and where it was logged comes second', () => {
  const event = call('error', 'ERROR', 3);
  event.args.push(
    { type: 'object', subtype: 'error', description: 'Error: without a stack' },
    {
      type: 'object',
      subtype: 'error',
      description:
        'TypeError: no cart\n    at total (http://localhost/cart.js:7:3)\n    at http://localhost/app.js:2:1',
    },
    { type: 'object', subtype: 'error', description: 'Error: later\n    at x (http://localhost/x.js:1:1)' },
  );
  const made = consoleCall(event, where);
  expect(made).toMatchObject({
    url: 'http://localhost/cart.js',
    line: 7,
    column: 3,
    stack: ['total (http://localhost/cart.js:7:3)', '(anonymous) (http://localhost/app.js:2:1)'],
    logged: '(anonymous) (http://localhost/app.js?token=[masked]:1:5)',
  });
  expect(checkEvent(made)).toBeUndefined();
});

test('of quiet capture too', () => {
  const stack = 'Error\n    at log (tidemark-page.js:1:1)\n    at report (http://localhost/report.js:2:3)';
  const error = 'TypeError: no cart\n    at total (http://localhost/cart.js:7:3)';
  const made = pageEntry(['log', 1795213240751, 'error', 'ERROR TypeError: no cart', 0, stack, error], where);
  expect(made).toMatchObject({
    url: 'http://localhost/cart.js',
    line: 7,
    stack: ['total (http://localhost/cart.js:7:3)'],
    logged: 'report (http://localhost/report.js:2:3)',
  });
  expect(checkEvent(made)).toBeUndefined();
  const plain = pageEntry(['log', 1795213240751, 'error', 'plain', 0, stack, ''], where);
  expect(plain).toMatchObject({ url: 'http://localhost/report.js', line: 2 });
  expect(plain.logged).toBeUndefined();
});
