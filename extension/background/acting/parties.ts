/** Those who take part in acting. */
import type { CaptureSource } from '../../capture/source';
import type { AriaParams, AriaResult } from '../../protocol';
import type { ContentFrames } from '../frames';
import type { HostPort } from '../port';
import type { Activity } from './activity';
import type { Sessions } from './sessions';

export interface ActingParties {
  sessions: Sessions;
  activity: Activity;
  source: Pick<CaptureSource, 'barrier'>;
  frames: Pick<ContentFrames, 'flush' | 'frames'>;
  port: Pick<HostPort, 'drained'>;
  /** Reads a tab's page, whose frames are each waited for for `patience` ms, if that is said. */
  look(params: AriaParams, patience?: number): Promise<AriaResult>;
  watched(tab: number): boolean;
  /** Whether the debugger is attached to the tab, for whatever reason. */
  attached(tab: number): boolean;
  /** Whether the page is paused in the debugger. */
  paused(tab: number): boolean;
  address(tab: number): Promise<string | undefined>;
  /** Whether a page of this address may be opened in a tab. */
  allowed(tab: number, url: string): boolean;
}
