/** The page's WebSockets, event streams and workers. */
import { type Channel, Numbers } from './channel';
import { call, hookConstructor, hookMethod } from './disguise';
import { thrown } from './errors';
import { getter, isA, listen, now, slice, unbound } from './natives';
import { CUT, type SocketRecord } from './records';
import { withoutHash } from './requests';
import { deep, type Holder } from './stack';

/** The longest frame of which all is taken, in UTF-16 units. */
const MAX_FRAME = 16 << 10;

const dataOf = getter<unknown>(MessageEvent.prototype, 'data');
const urlOf = getter<string>(WebSocket.prototype, 'url');
const codeOf = getter<number>(CloseEvent.prototype, 'code');
const closeReasonOf = getter<string>(CloseEvent.prototype, 'reason');
const bufferSize = isA(getter<number>(ArrayBuffer.prototype, 'byteLength'));
const blobSize = isA(getter<number>(Blob.prototype, 'size'));
const viewSize = isA(getter<number>(Object.getPrototypeOf(Uint8Array.prototype), 'byteLength'));
const dataViewSize = isA(getter<number>(DataView.prototype, 'byteLength'));
const encode = unbound(TextEncoder.prototype.encode) as (encoder: TextEncoder, text: string) => Uint8Array;
const lengthOf = getter<number>(Object.getPrototypeOf(Uint8Array.prototype), 'length');
const encoder = new TextEncoder();

/** Records connections, their frames and their end. */
export function hookSockets(channel: Channel): void {
  const numbers = new Numbers();
  const tell = (
    socket: object,
    op: SocketRecord[4],
    stack: Holder | '',
    text = '',
    size = 0,
    binary = false,
    code = 0,
  ): void => {
    const id = numbers.get(socket);
    if (!channel.recording || id === undefined) return;
    channel.add(['socket', now(), id, urlOf(socket), op, text, size, binary, code, stack]);
  };
  const frame = (socket: object, op: 'sent' | 'received', data: unknown): void => {
    if (typeof data !== 'string') {
      const size = bufferSize(data) ?? blobSize(data) ?? viewSize(data) ?? dataViewSize(data) ?? 0;
      tell(socket, op, '', '', size, true);
      return;
    }
    const size = data.length <= MAX_FRAME ? 0 : lengthOf(encode(encoder, data)); // 0: the text says it
    tell(socket, op, '', data.length > MAX_FRAME ? slice(data, 0, MAX_FRAME) + CUT : data, size);
  };
  hookConstructor(window, 'WebSocket', (socket) => {
    numbers.give(socket);
    const stack = deep();
    let opened = false;
    listen(socket, 'open', () => {
      opened = true;
      tell(socket, 'open', stack);
    });
    listen(socket, 'message', (event: unknown) => frame(socket, 'received', dataOf(event)));
    listen(socket, 'error', () => tell(socket, 'error', stack));
    listen(socket, 'close', (event: unknown) => {
      if (opened) tell(socket, 'close', stack, closeReasonOf(event), 0, false, codeOf(event));
    });
  });
  hookMethod(WebSocket.prototype, 'send', (native) => (self, args) => {
    const result = call(native, self, args);
    try {
      frame(self as object, 'sent', args[0]);
    } catch {
      // it is sent
    }
    return result;
  });
}

/** Records the code that opened an event stream when it opens or fails: `webRequest` reports what became of it. */
export function hookEventSources(channel: Channel): void {
  if (typeof EventSource === 'undefined') return;
  const addressOf = getter<string>(EventSource.prototype, 'url');
  hookConstructor(window, 'EventSource', (source) => {
    const began = now();
    const stack = deep();
    const tell = (status: number): void => {
      if (!channel.recording) return;
      const url = withoutHash(addressOf(source));
      channel.add(['answer', now(), 'eventsource', 'GET', url, status, '', null, '', began, stack]);
    };
    listen(source, 'open', () => tell(200));
    listen(source, 'error', () => tell(0));
  });
}

const messageOf = getter<string>(ErrorEvent.prototype, 'message');
const messageIfError = isA(messageOf);
const href = getter<string>(URL.prototype, 'href');
const URLNative = URL;

/** Records errors that workers did not catch, and that there is a worker into which nobody looks. */
export function hookWorkers(channel: Channel): void {
  for (const name of ['Worker', 'SharedWorker']) {
    if (!(name in window)) continue;
    hookConstructor(window, name, (worker, args) => {
      channel.add(['blind', now(), 'worker']);
      const script = typeof args[0] === 'string' ? args[0] : '';
      listen(worker, 'error', (event: unknown) => {
        if (!channel.recording) return;
        const message = messageIfError(event);
        if (message !== undefined && message !== '') {
          channel.ofWorker = message;
          channel.add(thrown(event, true));
        } else if (script !== '') {
          channel.add(['resource', now(), 'worker', href(new URLNative(script, document.baseURI)), false]);
        }
      });
    });
  }
  hookServiceWorker(channel);
}

function hookServiceWorker(channel: Channel): void {
  if (typeof ServiceWorkerContainer === 'undefined') return;
  const blind = (): void => channel.add(['blind', now(), 'service_worker']);
  hookMethod(ServiceWorkerContainer.prototype, 'register', (native) => (self, args) => {
    blind();
    return call(native, self, args);
  });
  try {
    if (navigator.serviceWorker.controller !== null) blind();
  } catch {
    // a document without an origin has none
  }
}
