/** Which tabs are watched, and how; pure. */
import type { Way } from '../capture/chosen';

/** The user's choices, by origin (permanent) and by tab (while it is open). */
export interface Choices {
  /** An origin that the user turned on, or a development origin that the user turned off. */
  readonly origins: Readonly<Record<string, boolean>>;
  /** Tabs that the user turned off. */
  readonly tabsOff: ReadonlySet<number>;
  /** The user has paused watching everywhere. */
  readonly paused?: boolean;
}

/** The user's choices of the capture mode. */
export interface WayChoices {
  readonly ways: Readonly<Record<string, Way>>;
  readonly tabsQuiet: ReadonlySet<number>;
  readonly way: Way | undefined;
}

/** Why a tab is watched or not; see `PopupTab.why` in messages.ts. */
export type Why = 'development' | 'chosen' | 'off_tab' | 'off_origin' | 'not_chosen';

/** Where Tidemark's own dashboard is on a port of this machine (host/internal/daemon). */
const DASHBOARD = '/tidemark-dashboard/';

/**
 * The origin of a page that can be watched at all: http or https; undefined for any other address, and for
 * Tidemark's own dashboard, which would hear of nothing but itself.
 */
export function watchableOrigin(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  try {
    const { protocol, origin, hostname, pathname } = new URL(url);
    if (hostname === '127.0.0.1' && pathname.startsWith(DASHBOARD)) return undefined;
    return protocol === 'http:' || protocol === 'https:' ? origin : undefined;
  } catch {
    return undefined;
  }
}

/** Loopback, *.localhost and *.test: where pages under development are served (RFC 6761, RFC 8252). */
export function isDevelopment(origin: string): boolean {
  const { hostname } = new URL(origin);
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    hostname.endsWith('.localhost') ||
    hostname.endsWith('.test') ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/** Why a tab that shows this origin is watched or not. */
export function why(tab: number, origin: string, choices: Choices): Why {
  if (choices.tabsOff.has(tab)) return 'off_tab';
  const chosen = choices.origins[origin];
  if (chosen === true) return 'chosen';
  if (chosen === false) return 'off_origin';
  return isDevelopment(origin) ? 'development' : 'not_chosen';
}

/** Whether a tab is watched while it shows this address. */
export function isWatched(tab: number, url: string | undefined, choices: Choices): boolean {
  const origin = watchableOrigin(url);
  if (origin === undefined || choices.paused === true) return false;
  const reason = why(tab, origin, choices);
  return reason === 'development' || reason === 'chosen';
}

/** How a page is captured: as chosen for its tab, its origin or everywhere, else as suits the browser. */
export function wayFor(tab: number, url: string | undefined, choices: WayChoices, suits: Way): Way {
  if (choices.tabsQuiet.has(tab)) return 'quiet';
  const origin = watchableOrigin(url);
  return (origin === undefined ? undefined : choices.ways[origin]) ?? choices.way ?? suits;
}

/** The match pattern of the host permission for an origin; patterns know no ports. */
export function permissionFor(origin: string): string {
  const { protocol, hostname } = new URL(origin);
  return `${protocol}//${hostname}/*`;
}
