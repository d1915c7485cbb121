/** Follows the WebSocket connections of one tab. */
import type { Protocol } from 'devtools-protocol';
import { CUT } from '../page/records';
import { type AnyEvent, MaxFrame } from '../protocol';
import { redactCut, redactURL } from '../redact/redact';
import type { Session, TabContext } from './context';
import { initiatorLines } from './stack';
import { byteLength, cutBytes } from './text';

type WebSocketEvent = Extract<AnyEvent, { kind: 'websocket' }>;
type Step = Pick<WebSocketEvent, 'op'> & Partial<WebSocketEvent>;

/** What is looked at for secrets before cutting. */
const MAX_LOOKED_AT = 16 << 10;

/** The address of a connection that was open before anything watched and that nothing names. */
const UNKNOWN = 'ws://unknown/';

/** What Chromium says of a connection that could not be opened, here and in a log entry. */
const NOT_OPENED = /^Error (in connection establishment|during WebSocket handshake)/;

interface Connection {
  readonly id: string;
  readonly session: Session;
  url: string;
  open: boolean;
  /** What the debugger says of who opened it. */
  readonly initiator?: Protocol.Network.Initiator | undefined;
  /** The HTTP status of a handshake that was refused, and what else the browser says of it. */
  status?: number | undefined;
  reason?: string | undefined;
}

/**
 * Reports connections, their frames and their end. Chromium reports neither code nor reason of a close,
 * and no event at all for connections that end because the page was left.
 */
export class WebSocketTracker {
  readonly #tab: TabContext;
  readonly #adopt: (whole: boolean, url?: string) => string | undefined;
  readonly #connections = new Map<string, Connection>();
  /** True from the moment the page begins to be replaced until it has been. */
  leaving = false;

  /**
   * `adopt` names the address of a connection whose start the debugger did not see; `whole` says that
   * no frame of it can have been missed.
   */
  constructor(tab: TabContext, adopt: (whole: boolean, url?: string) => string | undefined) {
    this.#tab = tab;
    this.#adopt = adopt;
  }

  created(session: Session, { requestId: id, url, initiator }: Protocol.Network.WebSocketCreatedEvent): void {
    this.#connections.set(id, { id, session, url, open: false, initiator });
  }

  handshakeRequest({ timestamp, wallTime }: Protocol.Network.WebSocketWillSendHandshakeRequestEvent): void {
    this.#tab.clock.learn(timestamp, wallTime);
  }

  handshake(session: Session, event: Protocol.Network.WebSocketHandshakeResponseReceivedEvent): void {
    const { requestId, response, timestamp } = event;
    const requested = /^GET (wss?:\S+)/.exec(response.requestHeadersText ?? '')?.[1];
    const connection = this.#get(session, requestId, requested, true);
    if (response.status === 101) this.#open(connection, timestamp);
    else connection.status = response.status;
  }

  frame(
    session: Session,
    op: 'sent' | 'received',
    event: Protocol.Network.WebSocketFrameReceivedEvent,
  ): void {
    const { opcode, payloadData } = event.response;
    const connection = this.#get(session, event.requestId);
    this.#open(connection, event.timestamp);
    if (opcode === 1) {
      const clean = redactCut(
        payloadData.length > MAX_LOOKED_AT ? payloadData.slice(0, MAX_LOOKED_AT) + CUT : payloadData,
      );
      this.#emit(connection, event.timestamp, {
        op,
        text: cutBytes(clean.text, MaxFrame),
        size: byteLength(payloadData),
        ...(clean.masked > 0 && { masked: clean.masked }),
      });
    } else if (opcode === 2) {
      const padding = payloadData.endsWith('==') ? 2 : payloadData.endsWith('=') ? 1 : 0;
      this.#emit(connection, event.timestamp, {
        op,
        binary: true,
        size: (payloadData.length / 4) * 3 - padding,
      });
    }
  }

  error(
    session: Session,
    { requestId, timestamp, errorMessage }: Protocol.Network.WebSocketFrameErrorEvent,
  ): void {
    const connection = this.#get(session, requestId);
    // Nothing names it here. The browser's log entry of the same failure does.
    if (connection.url === UNKNOWN && !connection.open && NOT_OPENED.test(errorMessage)) return;
    connection.status ??= refusedWith(errorMessage);
    const { open, status, reason } = connection;
    this.#emit(connection, timestamp, {
      op: 'error',
      text: errorMessage || connectionError(open, status, reason),
      ...(status !== undefined && { status }),
    });
  }

  /** The handshake had no answer that the browser accepts. Its error follows. */
  failed({ requestId, errorText }: Protocol.Network.LoadingFailedEvent): void {
    const connection = this.#connections.get(requestId);
    if (connection === undefined || connection.open) return;
    connection.status ??= refusedWith(errorText);
    connection.reason ??= errorText || undefined;
  }

  closed(session: Session, { requestId, timestamp }: Protocol.Network.WebSocketClosedEvent): void {
    const connection = this.#get(session, requestId);
    this.#connections.delete(requestId);
    // A connection that never opened is reported as failed, not as disconnected.
    if (!connection.open) return;
    this.#emit(connection, timestamp, { op: 'close', ...(this.leaving && { leaving: true }) });
  }

  /** Closes what ended with the page, or one of its frames or workers. */
  abandon(gone: (session: Session) => boolean): void {
    for (const connection of [...this.#connections.values()]) {
      if (!gone(connection.session)) continue;
      this.#connections.delete(connection.id);
      if (connection.open) this.#emit(connection, undefined, { op: 'close', leaving: true });
    }
  }

  /** A connection by id; one whose start was not seen is taken over. */
  #get(session: Session, id: string, url?: string, whole = false): Connection {
    let connection = this.#connections.get(id);
    if (connection === undefined) {
      const adopted = this.#adopt(whole, url);
      connection = { id, session, url: url ?? adopted ?? UNKNOWN, open: false };
      this.#connections.set(id, connection);
    }
    return connection;
  }

  #open(connection: Connection, timestamp: number): void {
    if (connection.open) return;
    connection.open = true;
    this.#emit(connection, timestamp, { op: 'open' });
  }

  #emit(connection: Connection, timestamp: number | undefined, step: Step): void {
    const url = redactURL(connection.url);
    const masked = (step.masked ?? 0) + url.masked;
    const frame = step.op === 'sent' || step.op === 'received';
    const stack = frame ? undefined : initiatorLines(connection.initiator);
    this.#tab.emit({
      kind: 'websocket',
      at: timestamp === undefined ? this.#tab.clock.now() : this.#tab.clock.at(timestamp),
      tab: this.#tab.tab,
      id: connection.id,
      url: url.text,
      ...step,
      ...(stack !== undefined && { stack }),
      ...(masked > 0 && { masked }),
    });
  }
}

/** What is said of a connection that failed, with what is known of why its handshake was refused. */
export function connectionError(open: boolean, status: number | undefined, reason?: string): string {
  if (open) return 'the connection broke';
  const refused = 'the connection could not be established';
  if (status !== undefined) return `${refused}: the handshake was answered with status ${status}`;
  return reason === undefined ? refused : `${refused}: ${reason}`;
}

/** The HTTP status that a message of the browser names for a refused handshake. */
function refusedWith(message: string): number | undefined {
  const status = /\b(?:Unexpected response code|net::ERR_\w+): (\d{3})\b/.exec(message)?.[1];
  return status === undefined ? undefined : Number(status);
}
