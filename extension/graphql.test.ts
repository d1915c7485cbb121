import { expect, test } from 'vitest';
import cases from '../protocol/testdata/operations.json';
import { type Flight, requestEvent } from './capture/request';

const flight: Flight = {
  id: '1',
  session: {},
  method: 'POST',
  url: 'http://localhost/graphql',
  resource: 'fetch',
  started: 1,
  order: 0,
  received: 0,
  cached: false,
  reported: false,
};

test.each(cases)('a request begins with the operation of its body: $name', ({ body, operation }) => {
  const event = requestEvent(7, { ...flight, requestBody: body });
  expect(event.operation ?? '').toBe(operation);
  expect('operation' in event).toBe(operation !== '');
});
