/** Evaluates an expression in a frame of a paused thread; texts of the page are masked. */
import type { Protocol } from 'devtools-protocol';
import { bare, keyText } from '../page/literal';
import { CUT } from '../page/records';
import type { DebugEvaluateParams, DebugValue } from '../protocol';
import { MASK, redactCut } from '../redact/redact';
import { FrameReader } from './inspect/frame-reader';
import { holdsText, partText, quote } from './inspect/values';
import type { DebugSession } from './session';

/** How long an expression may run, in ms, and how many characters of its value are answered. */
const EVALUATE_MS = 5000;
const MAX_VALUE = 8000;

/** Answers {@link MethodDebugEvaluate}. */
export async function evaluate(session: DebugSession, params: DebugEvaluateParams): Promise<DebugValue> {
  const thread = session.pausedThread(params.thread ?? 0);
  const frame = session.frame(thread, params.frame ?? 0);
  const { callFrameId } = frame;
  const reader = new FrameReader(session, thread, frame);
  const secret = await reader.tellsSecret(params.expression);
  const { result, exceptionDetails } = await session.send(thread, 'Debugger.evaluateOnCallFrame', {
    callFrameId,
    expression: params.expression,
    silent: true,
    generatePreview: true,
    timeout: EVALUATE_MS,
    throwOnSideEffect: params.evaluate !== true,
  });
  const thrown = exceptionDetails?.exception ?? result;
  if (secret && holdsText(thrown))
    return {
      type: thrown.subtype ?? thrown.type,
      value: MASK,
      ...(exceptionDetails !== undefined && { threw: true }),
      masked: 1,
    };
  const described = describe(thrown);
  const known = reader.secrets.inCode(described);
  const { text, masked: more } = redactCut(known);
  const masked = more + (known === described ? 0 : 1);
  return {
    type: thrown.subtype ?? thrown.type,
    value: text,
    ...(exceptionDetails !== undefined && { threw: true }),
    ...(masked > 0 && { masked }),
  };
}

/** A value in readable form. */
function describe(value: Protocol.Runtime.RemoteObject): string {
  const { type, description, unserializableValue, preview } = value;
  let text: string;
  if (type === 'string') text = JSON.stringify(value.value);
  else if (unserializableValue !== undefined) text = unserializableValue;
  else if (type === 'undefined') text = 'undefined';
  else if (preview !== undefined && value.subtype !== 'error') text = previewText(preview);
  else text = description ?? JSON.stringify(value.value) ?? type;
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}${CUT}… (${text.length} characters)` : text;
}

function previewText(preview: Protocol.Runtime.ObjectPreview): string {
  const array = preview.subtype === 'array';
  const parts = preview.properties.map(({ name, type, subtype, value }) => {
    const shown = partText(type, subtype, value);
    return array && /^\d+$/.test(name) ? shown : `${keyText(name, quote)}: ${shown}`;
  });
  const entries = (preview.entries ?? []).map(({ key, value }) =>
    [key, value]
      .flatMap((one) => (one === undefined ? [] : partText(one.type, one.subtype, one.description)))
      .join(' => '),
  );
  const all = [...parts, ...entries, ...(preview.overflow ? ['…'] : [])].join(', ');
  const name =
    preview.description && !/^Object$|^Array\(/.test(preview.description)
      ? bare(preview.description, quote)
      : '';
  if (array) return `[${all}]`;
  return all === '' && name !== '' ? name : `${name === '' ? '' : `${name} `}{${all}}`;
}
