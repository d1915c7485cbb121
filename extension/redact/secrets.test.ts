import type { Protocol } from 'devtools-protocol';
import { expect, test } from 'vitest';
import planted from '../../protocol/testdata/secrets.json';
import { consoleCall } from '../capture/console/console';
import { MASK, type Redacted, redactBody, redactHeaders, redactText, redactURL } from './redact';

interface Planted {
  id: string;
  channel: string;
  text: string;
  secret?: string;
}

const joined = (list: Planted[]): Planted[] => list.map((p) => ({ ...p, text: p.text.replaceAll('{}', '') }));
const secrets = joined(planted.secrets);
const innocent = joined(planted.innocent);

/** Takes a text the way of its channel. */
function redact({ channel, text }: Planted): Redacted {
  switch (channel) {
    case 'request_header':
    case 'response_header': {
      const [, name = '', value = ''] = /^(.*?): (.*)$/.exec(text) ?? [];
      const { headers, masked } = redactHeaders({ [name]: value });
      return { text: `${name}: ${headers[name]}`, masked };
    }
    case 'json_body':
    case 'form_body':
      return redactBody(text);
    case 'query':
    case 'url': {
      const clean = redactURL(`http://localhost${text}`);
      return { text: clean.text.slice('http://localhost'.length), masked: clean.masked };
    }
    case 'console_text':
      return log({ type: 'string', value: text });
    case 'console_object':
      return log({ type: 'object', preview: preview(JSON.parse(text) as Record<string, unknown>) });
    case 'websocket_frame':
    case 'input_value':
    case 'error_element':
      return redactText(text);
    default:
      throw new Error(`the channel ${channel} is not known`);
  }
}

function log(arg: Protocol.Runtime.RemoteObject): Redacted {
  const event = consoleCall({ type: 'log', args: [arg], executionContextId: 1, timestamp: 1 }, { tab: 1 });
  return { text: event?.text ?? '', masked: event?.masked ?? 0 };
}

/** What Chromium tells of an object that was logged. */
function preview(object: Record<string, unknown>): Protocol.Runtime.ObjectPreview {
  return {
    type: 'object',
    description: 'Object',
    overflow: false,
    properties: Object.entries(object).map(([name, value]) => ({
      name,
      type: typeof value as 'string',
      value: String(value),
    })),
  };
}

/** What a text is when nothing in it is masked. */
function unmasked(p: Planted): string {
  if (p.channel !== 'console_object') return p.text;
  const fields = Object.entries(JSON.parse(p.text) as Record<string, unknown>);
  return `{${fields.map(([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`).join(', ')}}`;
}

test('there are enough of both', () => {
  expect(secrets.length).toBeGreaterThanOrEqual(60);
  expect(innocent.length).toBeGreaterThanOrEqual(60);
});

test.each(secrets)('is not told: $channel $id', (p) => {
  expect(p.text).toContain(p.secret);
  const { text, masked } = redact(p);
  expect(text).not.toContain(p.secret);
  expect(text).toContain(MASK);
  expect(masked).toBeGreaterThan(0);
});

test.each(innocent)('stays readable: $channel $id', (p) => {
  expect(redact(p)).toEqual({ text: unmasked(p), masked: 0 });
});
