/**
 * Messages inside the extension: between the content scripts, the popup (and later panel and side
 * panel) and the service worker. Both sides import this file, so that neither can drift.
 *
 * All of it travels over named ports of `chrome.runtime.connect`, because a port tells the worker
 * that the other side has gone, and wakes a worker that was ended. When a port disconnects although
 * the page is still there (the worker was ended), connect again.
 */
import type { Way } from './capture/chosen';
import type {
  ActionEvent,
  ActObjection,
  CheckpointResult,
  ElementEvent,
  Finding,
  IgnoreResult,
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
 * What the worker tells a content script.
 *
 * - `watch` is the worker's first message on every port, and comes again when it changes. Nothing is
 *   to be recorded before it or while it is off; when it turns on, error elements that are visible
 *   already are reported as `appeared`, and those that vanished while it was off as `gone`; of what was
 *   reported before and is still there nothing is.
 *   `mask` is the text to put in place of what must not leave the page; `hooks` says whether what the
 *   hooks in the page's own world tell is wanted too.
 * - `flush` asks for everything seen so far at once: pending mutations are examined now and events
 *   that wait in a batch (coalesced typing too) are sent, then `flushed` with the same id.
 */
export type ToContent =
  | { t: 'watch'; on: boolean; mask: string; hooks?: boolean }
  | { t: 'flush'; id: number };

/**
 * What a content script tells the worker.
 *
 * A new port of a frame implies `reset` for that frame: the worker emits that ElementEvent by
 * itself, for a port that is gone as well. A content script whose port was cut connects again and
 * reports all visible error elements again. `hooked` says that the hooks are in the page's own world
 * (`from`: since when they were missing in it, milliseconds since the epoch), or that the `witness` beside
 * the debugger is; `page` brings what they tell (lists of page/records.ts, each with its number of records before it), and how much of it was
 * lost before. `stale` says once that the document has changed since it was looked at.
 */
export type FromContent =
  | { t: 'events'; events: ContentEvent[] }
  | { t: 'hooked'; from?: number; witness?: true }
  | { t: 'page'; lists: string[]; dropped?: number }
  | { t: 'stale' }
  | { t: 'flushed'; id: number };

/** How the worker stands with the host. */
export interface ConnectionState {
  /**
   * `connected`: hello and welcome were exchanged. `connecting`: under way. `waiting`: the host
   * could not be reached and is tried again by itself. `refused`: the host speaks another version
   * of the protocol, or the browser does not know the host or forbids it; tried again, more rarely.
   */
  state: 'connected' | 'connecting' | 'waiting' | 'refused';
  /** The state in a sentence for a person, with what to do where there is something to do. */
  text: string;
  /** The host's version while connected. */
  host?: string;
  /** When the next attempt is made, milliseconds since the epoch, while waiting or refused. */
  retry_at?: number;
  /** Events that wait to be taken by the host. */
  queued: number;
  /** Events that were lost because the queue was full, since the browser started. */
  dropped: number;
}

/** One tab as the popup shows it; tabs that can never be watched (chrome:// …) are not listed. */
export interface PopupTab {
  id: number;
  title: string;
  url: string;
  /** The origin as shown to a person: "http://localhost:5173". */
  origin: string;
  favicon?: string;
  /** Whether the switch is on: the tab is to be watched. */
  watched: boolean;
  /** Whether capture runs just now; false with `watched` while it starts or after it failed. */
  capturing: boolean;
  /**
   * Why the switch stands as it does: a development origin by itself, an origin that a person
   * switched on, switched off for this tab or for the origin, or an origin nobody switched on.
   */
  why: 'development' | 'chosen' | 'off_tab' | 'off_origin' | 'not_chosen';
  /**
   * The match pattern to pass to `chrome.permissions.request({origins: [permission]})`, inside the
   * person's gesture, before `set_watched` with `on: true`; absent when the permission is there.
   */
  permission?: string;
  /** How it is captured; absent while it is not watched. */
  way?: Way;
  /** What went wrong or what ended capture, in words; absent when there is nothing to say. */
  note?: string;
  /** Set while the debugger holds the page, or a worker or frame of it. */
  paused?: TabPaused;
  /** True for the tab in front of the window that was focused last: the popup's own tab. */
  active: boolean;
}

/** All that the popup shows. Pushed whole: on connecting and after every change. */
export interface PopupState {
  connection: ConnectionState;
  /** The active tab first, then watched ones, then the others in the browser's order. */
  tabs: PopupTab[];
  /** A person has paused watching everywhere. */
  paused?: boolean;
  /** The host's view; absent while it is not connected or has not answered yet. */
  overview?: Overview;
}

/**
 * What the popup asks of the worker. Requests carry an id of the popup's own and are answered with
 * one `done` of the same id; a `state` push follows every change.
 *
 * - `set_watched`: `scope: "tab"` speaks of this tab for as long as it is open; `scope: "origin"` of
 *   the tab's origin for good. Switching on an origin of another kind than development is always
 *   for the origin, whatever the scope says.
 * - `set_way`: how pages of the tab's origin are captured from now on.
 * - `checkpoint`: makes a named checkpoint of all tabs.
 * - `ignore`: what is said of a finding is noise from now on; `unignore` takes that back, by the name
 *   of the rule that `ignore` answered with.
 * - `resume`: whatever an agent has paused in the tab goes on.
 * - `pause`: nothing is watched any more until it is resumed, in any tab.
 * - `stop_agent`: what an agent is doing ends at once and its actions are refused (`stopped`), or they are
 *   allowed again.
 * - `refresh`: asks the host for its overview again and, when disconnected, connects at once.
 *   Connecting the port does the same.
 */
export type FromPopup =
  | { t: 'set_watched'; id: number; tab: number; on: boolean; scope: 'tab' | 'origin' }
  | { t: 'set_way'; id: number; tab: number; way: Way }
  | { t: 'checkpoint'; id: number; name: string; note?: string }
  | { t: 'ignore'; id: number; finding: Finding }
  | { t: 'unignore'; id: number; rule: string }
  | { t: 'resume'; id: number; tab: number }
  | { t: 'pause'; id: number; paused: boolean }
  | { t: 'stop_agent'; id: number; agent: number; stopped: boolean }
  | { t: 'refresh'; id: number };

/** What the worker tells the popup. */
export type ToPopup =
  | { t: 'state'; state: PopupState }
  | {
      t: 'done';
      id: number;
      /** Why it was not done, for a person; absent when it was. */
      error?: string;
      /** Answer to `checkpoint`. */
      checkpoint?: CheckpointResult;
      /** Answer to `ignore`. */
      ignored?: IgnoreResult;
    };

/**
 * What the panel asks of the worker; each is answered with one `done` of the same id.
 *
 * - `ask`: one of the host's view_… methods, passed on as it is.
 * - `reveal`: brings the first element that a selector finds in a tab (the browser's own id) into view and
 *   marks it for a moment.
 * - `connect`: connects to the host at once when there is no connection.
 */
export type FromViewer =
  | { t: 'ask'; id: number; method: string; params: unknown }
  | { t: 'reveal'; id: number; tab: number; selector: string }
  | { t: 'connect'; id: number };

/** What the worker tells the panel: how it stands with the host, after every change, and answers. */
export type ToViewer =
  | { t: 'connection'; connection: ConnectionState }
  | { t: 'done'; id: number; result?: unknown; error?: string };

/** A place in a frame's viewport, in CSS pixels. */
export interface Point {
  x: number;
  y: number;
}

/** What has to hold before an element is acted on. */
export interface ActNeeds {
  enabled?: boolean;
  /** It must stand still. */
  still?: boolean;
  /** A pointer must be able to hit it, for which it stands still; else it only has to be shown. */
  hit?: boolean;
}

/** A part of a viewport, in CSS pixels. */
export interface Box extends Point {
  width: number;
  height: number;
}

/** What the worker asks of a frame of a tab that it acts on. */
export interface ActAsk {
  do:
    | 'ready'
    | 'through'
    | 'field'
    | 'fill'
    | 'choose'
    | 'rest'
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
    | 'key';
  document?: string;
  id?: number;
  role?: string;
  name?: string;
  /** What is waited for before anything else; nothing if absent. */
  needs?: ActNeeds;
  /** A click comes: nothing else than the element may get it, which `struck` asks about. */
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
  /** What fields made of what was done to them is told, too. */
  fields?: boolean;
  /** How long it may take, in ms. */
  ms: number;
}

/** What a frame answers. */
export interface ActTold {
  refused?: string;
  by?: number;
  text?: string;
  point?: Point;
  /** Nothing is left to do: it was done, or is to be done, by setting the field's value. */
  done?: boolean;
  draggable?: boolean;
  box?: Box;
  /** The frame was scrolled to, so that what was known of places in it holds no more. */
  moved?: boolean;
  /** Until when nothing had been done to the element that was waited for, in ms since the epoch. */
  since?: number;
  /** The element holds the focus now. */
  focused?: boolean;
  /** What has the focus in place of the field that was to have it. */
  elsewhere?: string;
  /** The field takes one line of text, as an input does. */
  line?: boolean;
  /** How often the document has changed so far. */
  changes?: number;
  /** What fields of the document made of what was done to them, where they did not take it. */
  objections?: FieldObjection[];
  document?: string;
}

/** A field that did not take what was done. */
export interface FieldObjection extends Omit<ActObjection, 'field'> {
  id: number;
}
