/**
 * The one client interface of the viewer: what its components ask, whoever carries it. In the extension the
 * worker's port does, in the dashboard HTTP; both only have to give an {@link Ask} and a {@link Connection}.
 */
import type { ReadonlySignal } from '@preact/signals';
import type { ViewMethods } from '../../extension/methods';
import type { Place } from '../../extension/protocol';

/** Asks the host; rejects with an Error whose message is for a person. */
export type Ask = <M extends keyof ViewMethods>(
  method: M,
  params: ViewMethods[M]['params'],
) => Promise<ViewMethods[M]['answer']>;

/** How it stands with the host. */
export interface Connection {
  state: 'connected' | 'connecting' | 'waiting' | 'refused';
  /** The state in a sentence for a person; `words in backticks` are to be typed. */
  text: string;
}

/** What the viewer's components need of whatever page they are on. */
export interface ViewerClient {
  readonly connection: ReadonlySignal<Connection>;
  readonly ask: Ask;
  /** Tries to connect at once. */
  connect(): void;
  /**
   * The tab that the page belongs to, by the browser's own id (the inspected one in DevTools); absent where
   * there is none: then all tabs are shown at first.
   */
  readonly tab?: number;
  /** Opens a place in the Sources panel, false when that does not know it; absent where there is none. */
  openSource?(place: Place): Promise<boolean>;
  /** Brings an element of a tab (the browser's own id) into view; absent where that cannot be. */
  reveal?(tab: number, selector: string): Promise<void>;
}
