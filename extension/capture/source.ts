/** What every way of capturing a tab has in common. */
import type { AnyEvent, ConsoleEvent } from '../protocol';

/** Takes an event on its way to the host; called in the order in which things happened. */
export type Emit = (event: AnyEvent) => void;

/** Where something ran when that was not the tab's main document. */
export type Target = NonNullable<ConsoleEvent['target']>;

/** Tab and target, which every event of one debugger session shares. */
export interface Where {
  readonly tab: number;
  readonly target?: Target | undefined;
  /** True for what comes from a document that is being left, or has been. */
  readonly left?: boolean | undefined;
}

/** Why capture of a tab ended without being asked to. */
export type EndReason = 'canceled_by_user' | 'closed' | 'replaced';

/** How to begin with a tab. */
export interface StartOptions {
  /**
   * What happened before this (milliseconds since the epoch) was reported already, by an earlier life
   * of the worker, or is not wanted; 0 when all is wanted that can still be had.
   */
  replayFrom: number;
  /** The address that the tab is on its way to, or shows. */
  url?: string;
  /** The address that the browser knows the tab to show, for a page that does not answer. */
  shown?(): Promise<string | undefined>;
  /** Whether a page of this address is watched; nothing of another page of the tab is reported. */
  allowed: (url: string) => boolean;
}

/** What became of a start. */
export interface Started {
  /** The time that was not seen; undefined when nothing was missed. */
  missed?: { from: number; to: number } | undefined;
}

/**
 * One way to see what happens in tabs: the debugger, or quiet capture without it.
 * Starting twice, or stopping what does not run, does nothing.
 */
export interface CaptureSource {
  /** Its name in the protocol's `Tab.capture`. */
  readonly name: string;
  /** Resolves when capture runs; rejects with an error for the user. */
  start(tab: number, options: StartOptions): Promise<Started>;
  stop(tab: number): Promise<void>;
  runs(tab: number): boolean;
  /** Resolves when everything that the browser has reported of the tab so far was emitted. */
  barrier(tab: number): Promise<void>;
}
