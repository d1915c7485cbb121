/**
 * The one client interface of the viewer: what its components ask, whoever carries it. In the extension the
 * worker's port does, in the dashboard HTTP; both only have to give an {@link Ask} and a {@link Connection}.
 */
import type { ReadonlySignal } from '@preact/signals';
import type {
  CheckpointParams,
  CheckpointResult,
  IgnoreParams,
  IgnoreResult,
  Place,
  StopAgentParams,
  UnignoreParams,
  ViewCalls,
  ViewCallsParams,
  ViewCheckpoints,
  ViewDeleteParams,
  ViewEntries,
  ViewEntriesParams,
  ViewHidden,
  ViewHoldParams,
  ViewOverview,
  ViewPage,
  ViewPageParams,
  ViewParams,
  ViewRenameParams,
  ViewReport,
  ViewReportParams,
  ViewResumeParams,
  ViewTimeline,
  ViewTimelineParams,
  ViewVariables,
  ViewVariableTree,
  ViewVariableTreeParams,
} from '../protocol';

/** The host's methods, with parameters and answers; protocol/viewer.go and viewer_variables.go describe them. */
export interface ViewMethods {
  view_overview: { params: ViewParams; answer: ViewOverview };
  view_timeline: { params: Partial<ViewTimelineParams>; answer: ViewTimeline };
  view_checkpoints: { params: ViewParams; answer: ViewCheckpoints };
  view_report: { params: ViewReportParams; answer: ViewReport };
  view_entries: { params: ViewEntriesParams; answer: ViewEntries };
  view_hidden: { params: ViewReportParams; answer: ViewHidden };
  view_calls: { params: ViewCallsParams; answer: ViewCalls };
  view_hold: { params: ViewHoldParams; answer: object };
  view_stop: { params: StopAgentParams; answer: object };
  view_checkpoint_create: { params: CheckpointParams; answer: CheckpointResult };
  view_checkpoint_rename: { params: ViewRenameParams; answer: object };
  view_checkpoint_delete: { params: ViewDeleteParams; answer: object };
  view_ignore: { params: IgnoreParams; answer: IgnoreResult };
  view_unignore: { params: UnignoreParams; answer: object };
  view_page: { params: ViewPageParams; answer: ViewPage };
  view_variables: { params: ViewParams; answer: ViewVariables };
  view_variable_tree: { params: ViewVariableTreeParams; answer: ViewVariableTree };
  view_resume: { params: ViewResumeParams; answer: object };
}

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
