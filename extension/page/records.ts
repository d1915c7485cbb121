/**
 * What the hooks in the page's own world tell the content script: rows of plain values, so that
 * nothing that the page changes in its prototypes can reach them. They travel as text, which only the
 * worker reads: the page's process does not pay for that. A page can forge them, as it can log whatever it
 * likes; nothing that they say is believed beyond that.
 */

import { MaxBody } from '../protocol';

/** The name of the hooks' script (build.mjs gives it), in whose frames nobody is interested. */
export const HOOKS = 'tidemark-page.js';

/** At the end of code that the debugger evaluates for Tidemark in the page's own world: it gets that name too. */
export const NAMED = `\n//# sourceURL=${HOOKS}`;

/** Where a text was cut, its full length in UTF-16 units; 0 when it was not. */
type Length = number;

/** A call of the page to its console, where it was called, and the stack of the first error that it logged. */
export type LogRecord = [
  'log',
  at: number,
  level: string,
  text: string,
  length: Length,
  stack: string,
  error: string,
];
/** An uncaught error or an unhandled rejection; `worker` is true for one in a worker of the page. */
export type ThrownRecord = [
  'thrown',
  at: number,
  via: 'exception' | 'rejection',
  text: string,
  length: Length,
  url: string,
  line: number,
  column: number,
  stack: string,
  worker: boolean,
];
/** Something that the browser itself complains of: a policy, a deprecation, an intervention. */
export type NoteRecord = [
  'note',
  at: number,
  category: 'security' | 'deprecation' | 'intervention' | 'javascript',
  level: 'error' | 'warning',
  text: string,
  url: string,
  line: number,
  column: number,
];
/** An element, or a worker, whose resource did not load; `integrity` when it must have a certain hash, `module` of a module script. */
export type ResourceRecord = [
  'resource',
  at: number,
  tag: string,
  url: string,
  integrity: boolean,
  module?: boolean,
];
/**
 * What became of a request that the page's own code made: the body as far as it is text and was read; a
 * status of 0 and the error in `note`, or [GIVEN_UP], when there was no answer. Of an event stream, only the code that opened it is known.
 */
export type AnswerRecord = [
  'answer',
  at: number,
  resource: 'fetch' | 'xhr' | 'eventsource',
  method: string,
  url: string,
  status: number,
  mime: string,
  body: string | null,
  note: string,
  started: number,
  stack: string,
];
/** The note of a request that the page gave up. */
export const GIVEN_UP = '';
/** One step of a WebSocket; `size` in bytes. Frames come without the stack of the code that opened the connection. */
export type SocketRecord = [
  'socket',
  at: number,
  id: number,
  url: string,
  op: 'open' | 'sent' | 'received' | 'close' | 'error',
  text: string,
  size: number,
  binary: boolean,
  code: number,
  stack: string,
];
/** The page has something into which these hooks cannot look. */
export type BlindRecord = ['blind', at: number, to: 'worker' | 'service_worker'];

export type PageRecord =
  | LogRecord
  | ThrownRecord
  | NoteRecord
  | ResourceRecord
  | AnswerRecord
  | SocketRecord
  | BlindRecord;

/** How much later, in ms, a request is dated than the one that was sent before it in the same millisecond. */
export const SAME_MS_STEP = 1 / 1024;

/** The longest text that is taken, in UTF-16 units; what is kept of it is less, masked before it is cut. */
export const MAX_TEXT = 16 << 10;

/** The most frames of a stack of what the page asks for. Frameworks may have 210 of them above the page's own. */
export const STACK_DEPTH = 256;

/** The longest stack that is taken, in UTF-16 units. */
export const MAX_STACK = 4800;

/**
 * Stands where a value's middle or end was left out: what remains of it there may be a part of a secret. (A control
 * character, which the host takes out of every text.)
 */
export const CUT = '\u0013';

/** Parts of the names of types that are text; `text/` begins all others. */
export const TEXT_TYPES = ['json', 'xml', 'javascript', 'ecmascript', 'graphql', 'urlencoded', 'yaml'];
/** A part of the names of office documents, which are archives. */
export const ARCHIVE_TYPE = 'openxmlformats';

/** Why a body is missing that is not text. */
export const NOT_TEXT = 'not text';

/** So much of a body is read beside the page: what is masked where reading stops is not part of what is kept. */
export const MAX_READ = MaxBody + (8 << 10);

/**
 * The handshake: whichever of the two scripts comes second asks or tells; the hooks tell by an event whose
 * `relatedTarget` is a node that nobody else has. All that follows are events on that node.
 */
export const HANDSHAKE = { tell: 'tidemark:page', ask: 'tidemark:content' };
/** The handshake of the witness beside the debugger. */
export const WITNESS_HANDSHAKE = { tell: 'tidemark:witness', ask: 'tidemark:content-witness' };
/** The names of the two events of a handshake. */
export type Handshake = typeof HANDSHAKE;
/** On the node: how many records, a space, and a JSON list of them, as `detail`. */
export const RECORDS = 'records';
/** On the node, to the hooks: tell what waits, and begin or stop recording. */
export const FLUSH = 'flush';
export const START = 'start';
export const STOP = 'stop';
/** On the node: tell the name of the event that asks a custom element for its attributes; then what it answers, as `detail`. */
export const ATTRIBUTES = 'attributes';
