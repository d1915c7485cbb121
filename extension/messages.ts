/**
 * Messages inside the extension: between the content scripts, the popup (and later panel and side
 * panel) and the service worker. Both sides import this file, so that they stay in step.
 *
 * All messages use named ports of `chrome.runtime.connect`, because a port notifies the worker when
 * the other side closes, and wakes a stopped worker. If a port disconnects while the page still exists,
 * the worker was stopped: connect again.
 */
import type { Way } from './capture/chosen';
import type { Held } from './held';
import type { PopupMethods } from './methods';
import type {
  ActionEvent,
  ActObjection,
  ActUnclicked,
  ElementEvent,
  KindAction,
  KindElement,
  Overview,
  TabPaused,
} from './protocol';

export type { Way };

/** Name of the port that the content script of every frame opens as soon as it runs. */
export const CONTENT_PORT = 'content';

/** Name of the port that the popup (or another page of the extension) opens while it is shown. */
export const POPUP_PORT = 'popup';

/** Name of the port that the panel and the side panel open while they are shown. */
export const VIEWER_PORT = 'viewer';

/**
 * One event as a content script reports it: the worker fills in the tab and the frame from the
 * port's sender. Secrets must be masked already, and counted in `masked`.
 */
export type ContentEvent =
  | (Omit<ActionEvent, 'tab' | 'frame' | 'kind'> & { kind: typeof KindAction })
  | (Omit<ElementEvent, 'tab' | 'frame' | 'kind'> & { kind: typeof KindElement });

/**
 * Messages from the worker to a content script.
 *
 * - `watch` is the worker's first message on every port, and is sent again after a change. Nothing is
 *   recorded before it or while it is off. When it turns on, error elements that are already visible
 *   are reported as `appeared`, and those that vanished while it was off as `gone`. Elements that were
 *   reported before and still exist are not reported again.
 *   `mask` is the text that replaces values which must not leave the page. `hooks` is true if the reports of
 *   the hooks in the page's own world are needed too.
 * - `flush` requests everything seen so far. The content script examines pending mutations, sends
 *   batched events (coalesced typing too), then `flushed` with the same id.
 * - `unimported` names a module that the page's code imported dynamically. It did not load, and the code did not handle that. `at` is
 *   when the error was thrown, in milliseconds since the epoch. Only top frames are sent this.
 */
export type ToContent =
  | { t: 'watch'; on: boolean; mask: string; hooks?: boolean }
  | { t: 'flush'; id: number }
  | { t: 'unimported'; url: string; at: number };

/**
 * Messages from a content script to the worker.
 *
 * A new port of a frame implies `reset` for that frame. The worker emits that ElementEvent
 * automatically, also when a port closes. A content script whose port was cut connects again and
 * reports all visible error elements again. `hooked` reports that the hooks are in the page's own world
 * (`from`: since when they were missing, in milliseconds since the epoch), or that the `witness` beside
 * the debugger is. `page` carries the records of the hooks or of the `witness` (lists of page/records.ts, each
 * after its number of records), and the number of lost ones. `stale` reports once that the document has changed since the last
 * snapshot. `title` reports how a title is shown that contains what a sensitive field holds.
 * `held` reports hashes of what sensitive fields hold: a dialog may show it while the page is blocked.
 */
export type FromContent =
  | { t: 'events'; events: ContentEvent[] }
  | { t: 'hooked'; from?: number; witness?: true }
  | { t: 'page'; lists: string[]; witness?: true; dropped?: number }
  | { t: 'stale' }
  | { t: 'title'; title: string; shown: string }
  | { t: 'held'; held: Held }
  | { t: 'flushed'; id: number };

/** The state of the connection between worker and host. */
export interface ConnectionState {
  /**
   * `connected`: hello and welcome were exchanged. `connecting`: in progress. `waiting`: the host
   * could not be reached and is retried automatically. `refused`: the host uses another version
   * of the protocol, or the browser does not know the host or forbids it; retried less often.
   */
  state: 'connected' | 'connecting' | 'waiting' | 'refused';
  /** The state in a sentence for the user, with the next step if there is one. */
  text: string;
  /** The host's version while connected. */
  host?: string;
  /** When the next attempt is made, milliseconds since the epoch, while waiting or refused. */
  retry_at?: number;
  /** Events that wait for the host. */
  queued: number;
  /** Events that were lost because the queue was full, since the browser started. */
  dropped: number;
}

/** One tab as the popup shows it; tabs that can never be watched (chrome:// …) are not listed. */
export interface PopupTab {
  id: number;
  title: string;
  url: string;
  /** The origin as shown to the user: "http://localhost:5173". */
  origin: string;
  favicon?: string;
  /** Whether the switch is on: the tab should be watched. */
  watched: boolean;
  /** Whether capture is running; false with `watched` while it starts or after it failed. */
  capturing: boolean;
  /**
   * Why the switch is on or off: a development origin, an origin that the user turned on, turned off for
   * this tab or for the origin, or an origin that was never turned on.
   */
  why: 'development' | 'chosen' | 'off_tab' | 'off_origin' | 'not_chosen';
  /**
   * The match pattern to pass to `chrome.permissions.request({origins: [permission]})`, inside the
   * user's gesture, before `set_watched` with `on: true`; absent if the permission is granted.
   */
  permission?: string;
  /** The capture mode; absent while it is not watched. */
  way?: Way;
  /** What went wrong or what ended capture, in words, if anything. */
  note?: string;
  /** Set while the page, or a worker or frame of it, is paused in the debugger. */
  paused?: TabPaused;
  /** True for the tab in front of the window that was focused last: the popup's own tab. */
  active: boolean;
}

/** The whole state of the popup, pushed on connecting and after every change. */
export interface PopupState {
  connection: ConnectionState;
  /** The active tab first, then watched ones, then the others in the browser's order. */
  tabs: PopupTab[];
  /** The user has paused watching everywhere. */
  paused?: boolean;
  /** The host's view; absent while it is not connected or has not answered yet. */
  overview?: Overview;
}

/** Calls one of the popup's methods on the host. Rejects with an Error whose message is for the user. */
export type AskHost = <M extends keyof PopupMethods>(
  method: M,
  params: PopupMethods[M]['params'],
) => Promise<PopupMethods[M]['answer']>;

/**
 * Requests of the popup to the worker. Each carries an id chosen by the popup and is answered with
 * one `done` of the same id. A `state` push follows every change.
 *
 * - `set_watched`: `scope: "tab"` applies to this tab while it is open, `scope: "origin"` to the tab's
 *   origin permanently. Turning on an origin that is not a development origin always applies to the
 *   origin.
 * - `set_way`: sets the capture mode of the tab's origin.
 * - `ask`: calls one of the popup's methods on the host ({@link PopupMethods}).
 * - `resume`: resumes everything that an agent has paused in the tab.
 * - `pause`: pauses or resumes watching in all tabs.
 * - `refresh`: requests the host's overview again and, when disconnected, connects at once.
 *   Connecting the port does the same.
 */
export type FromPopup =
  | { t: 'set_watched'; id: number; tab: number; on: boolean; scope: 'tab' | 'origin' }
  | { t: 'set_way'; id: number; tab: number; way: Way }
  | { t: 'ask'; id: number; method: string; params: unknown }
  | { t: 'resume'; id: number; tab: number }
  | { t: 'pause'; id: number; paused: boolean }
  | { t: 'refresh'; id: number };

/** Messages from the worker to the popup. */
export type ToPopup =
  | { t: 'state'; state: PopupState }
  | {
      t: 'done';
      id: number;
      /** Why the request failed, for the user; absent on success. */
      error?: string;
      /** The answer to `ask`. */
      result?: unknown;
    };

/**
 * Requests of the panel to the worker; each is answered with one `done` of the same id.
 *
 * - `ask`: one of the host's view_… methods, forwarded unchanged.
 * - `reveal`: scrolls the first match of a selector in a tab (the browser's id) into view and briefly
 *   highlights it.
 * - `connect`: connects to the host at once if there is no connection.
 */
export type FromViewer =
  | { t: 'ask'; id: number; method: string; params: unknown }
  | { t: 'reveal'; id: number; tab: number; selector: string }
  | { t: 'connect'; id: number };

/** Messages from the worker to the panel: the connection state after every change, and answers. */
export type ToViewer =
  | { t: 'connection'; connection: ConnectionState }
  | { t: 'done'; id: number; result?: unknown; error?: string };

/** A place in a frame's viewport, in CSS pixels. */
export interface Point {
  x: number;
  y: number;
}

/** Conditions for acting on an element. */
export interface ActNeeds {
  enabled?: boolean;
  /** It must not move. */
  still?: boolean;
  /** A pointer must be able to hit it, so it must not move either; else it only has to be visible. */
  hit?: boolean;
}

/** A part of a viewport, in CSS pixels. */
export interface Box extends Point {
  width: number;
  height: number;
}

/** A request of the worker to a frame of a tab during an action. */
export interface ActAsk {
  do:
    | 'ready'
    | 'through'
    | 'field'
    | 'left'
    | 'paste'
    | 'fill'
    | 'choose'
    | 'rest'
    | 'moves'
    | 'idle'
    | 'focus'
    | 'draggable'
    | 'drag'
    | 'box'
    | 'call'
    | 'struck'
    | 'veil'
    | 'unveil'
    | 'change'
    | 'scroll'
    | 'click'
    | 'hover'
    | 'text'
    | 'key'
    | 'seek';
  document?: string;
  id?: number;
  role?: string;
  name?: string;
  /** Conditions to wait for first; none if absent. */
  needs?: ActNeeds;
  /** A click follows: only the element may get it, which `struck` checks. */
  guard?: boolean;
  point?: Point;
  /** A place in the frame that the element shows. */
  box?: Box;
  texts?: string[];
  clear?: boolean;
  double?: boolean;
  button?: string;
  key?: string;
  modifiers?: number;
  x?: number;
  y?: number;
  /** The element to drop on. */
  to?: number;
  /** Rejected and ignored input of fields is reported too. */
  fields?: boolean;
  /** When what was done began, for what moves because of it; in ms since the epoch. */
  since?: number;
  /** The `call` is for the element that the last refusal blamed: its ancestor of that many levels. */
  blamed?: number;
  /** How long it may take, in ms. */
  ms: number;
}

/** What covers or hides an element. */
export interface Blame {
  /** The element if it is neither the target nor the one in front of it: `div.controls`. */
  element?: string;
  /** The pseudo-element of it that does it: `::after`. */
  pseudo?: string;
  /** The property that does it, and its value. Both are empty if that is not known. */
  property: string;
  value: string;
}

/** The answer of a frame. */
export interface ActTold {
  refused?: string;
  by?: number;
  blame?: Blame;
  text?: string;
  point?: Point;
  /** Nothing else to do: the step is done, or done by setting the field's value. */
  done?: boolean;
  draggable?: boolean;
  box?: Box;
  /** The frame was scrolled, so known positions in it are no longer valid. */
  moved?: boolean;
  /** Until when waiting for the element had no effect on it, in ms since the epoch. */
  since?: number;
  /** The element has the focus. */
  focused?: boolean;
  /** The element that has the focus instead of the field. */
  elsewhere?: string;
  /** The field takes a single line of text, as an input does. */
  line?: boolean;
  /**
   * It is an editor's: `rich` is edited as a part of the page; `code` draws its text itself, and only keys select in it;
   * `segment` is a part of a date or time that takes one key after the other, and moves the focus when it is full.
   */
  editor?: 'rich' | 'code' | 'segment';
  /** All of a rich editor's text is to be selected by keys. */
  byKeys?: boolean;
  /** How many characters and other things are left in the editor. */
  left?: number;
  /** The number of changes of the document so far. */
  changes?: number;
  /** Something moves in the document since the action, apart from what was acted on. */
  moves?: boolean;
  /** The fields of the document that rejected or ignored input. */
  objections?: FieldObjection[];
  /** The click that the browser did not fire. */
  unclicked?: ActUnclicked;
  document?: string;
}

/** A field that rejected or ignored input. */
export interface FieldObjection extends Omit<ActObjection, 'field' | 'strayed'> {
  id: number;
  strayed?: number;
}
