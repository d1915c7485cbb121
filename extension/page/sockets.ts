/** The page's WebSockets and workers. */
import { type Channel, Numbers } from './channel';
import { call, hookConstructor, hookMethod } from './disguise';
import { thrown } from './errors';
import { getter, isA, listen, now, slice, unbound } from './natives';
import type { SocketRecord } from './records';

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
  const tell = (socket: object, op: SocketRecord[4], text = '', size = 0, binary = false, code = 0): void => {
    const id = numbers.get(socket);
    if (!channel.recording || id === undefined) return;
    channel.add(['socket', now(), id, urlOf(socket), op, text, size, binary, code]);
  };
  const frame = (socket: object, op: 'sent' | 'received', data: unknown): void => {
    if (typeof data !== 'string') {
      const size = bufferSize(data) ?? blobSize(data) ?? viewSize(data) ?? dataViewSize(data) ?? 0;
      tell(socket, op, '', size, true);
      return;
    }
    const size = data.length <= MAX_FRAME ? 0 : lengthOf(encode(encoder, data)); // 0: the text says it
    tell(socket, op, data.length > MAX_FRAME ? slice(data, 0, MAX_FRAME) : data, size);
  };
  hookConstructor(window, 'WebSocket', (socket) => {
    numbers.give(socket);
    let opened = false;
    listen(socket, 'open', () => {
      opened = true;
      tell(socket, 'open');
    });
    listen(socket, 'message', (event: unknown) => frame(socket, 'received', dataOf(event)));
    listen(socket, 'error', () => tell(socket, 'error'));
    listen(socket, 'close', (event: unknown) => {
      if (opened) tell(socket, 'close', closeReasonOf(event), 0, false, codeOf(event));
    });
  });
  hookMethod(
    WebSocket.prototype,
    'send',
    (native) =>
      ({
        send(this: object, ...args: unknown[]): unknown {
          const result = call(native, this, args as never[]);
          try {
            frame(this, 'sent', args[0]);
          } catch {
            // it is sent
          }
          return result;
        },
      }).send,
  );
}

/** Records errors that workers did not catch, and that there is a worker into which nobody looks. */
export function hookWorkers(channel: Channel): void {
  for (const name of ['Worker', 'SharedWorker']) {
    if (!(name in window)) continue;
    hookConstructor(window, name, (worker) => {
      channel.add(['blind', now(), 'worker']);
      listen(worker, 'error', (event: unknown) => {
        if (!channel.recording) return;
        try {
          channel.add(thrown(event, true));
        } catch {
          channel.add([
            'thrown',
            now(),
            'exception',
            'a worker’s script did not load',
            0,
            '',
            0,
            0,
            '',
            true,
          ]);
        }
      });
    });
  }
  try {
    if (navigator.serviceWorker?.controller) channel.add(['blind', now(), 'service_worker']);
  } catch {
    // a document without an origin has none
  }
}
