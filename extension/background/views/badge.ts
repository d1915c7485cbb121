/** The number on the icon: errors and warnings in all watched tabs since their newest checkpoint. */
import type { AskHost } from '../../messages';
import type { Overview } from '../../protocol';
import { standing } from '../../standing';
import { t } from '../../text';

/** What the badge needs of the worker. */
export interface BadgeOptions {
  connected(): boolean;
  paused(): boolean;
  request: AskHost;
  show(badge: Badge): void;
}

/** What is shown. */
export interface Badge {
  text: string;
  colour: string;
  title: string;
}

/**
 * How long after an event the host is asked, and how often without one, in ms; where its answers take long,
 * that many times as long as the last took.
 */
const SOON_MS = 1000;
const NOW_AND_THEN_MS = 10_000;
const REST = 10;

const COLOURS: Readonly<Record<string, string>> = { error: '#b3221f', warning: '#855300' };

/** The badge for a status. */
export function badgeOf(overview: Overview | undefined, paused: boolean): Badge {
  if (paused) return { text: 'II', colour: '#4e606b', title: t('badgePaused') };
  const count = (overview?.errors ?? 0) + (overview?.warnings ?? 0);
  const text = count === 0 ? '' : count > 999 ? '999+' : String(count);
  const colour = COLOURS[overview?.severity ?? ''] ?? '#14703f';
  return { text, colour, title: titleOf(overview) };
}

function titleOf(overview: Overview | undefined): string {
  if (overview === undefined) return 'Tidemark';
  const { since } = overview;
  return since === undefined ? t('badge', standing(overview)) : t('badgeSince', standing(overview), since);
}

/** Keeps the badge up to date. */
export class BadgeKeeper {
  readonly #options: BadgeOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;
  #asking = false;
  #again = false;
  #soon = SOON_MS;
  #shown = '';

  constructor(options: BadgeOptions) {
    this.#options = options;
  }

  /** Schedules an update after a possible change. */
  changed(): void {
    if (this.#asking) this.#again = true;
    else this.#timer ??= setTimeout(() => void this.#ask(), this.#soon);
  }

  /** Called regularly, because checkpoints are made elsewhere too. */
  tick(now = Date.now()): void {
    if (now - this.#asked >= NOW_AND_THEN_MS) this.changed();
  }

  /** Sends one request at a time, because more would only make slow answers slower. */
  async #ask(): Promise<void> {
    this.#timer = undefined;
    this.#asking = true;
    this.#again = false;
    this.#asked = Date.now();
    try {
      await this.#show();
    } finally {
      this.#asking = false;
      this.#soon = Math.max(SOON_MS, REST * (Date.now() - this.#asked));
      if (this.#again) this.changed();
    }
  }

  async #show(): Promise<void> {
    const { connected, paused, request, show } = this.#options;
    let overview: Overview | undefined;
    if (connected()) {
      try {
        overview = await request('overview', {});
      } catch {
        // The connection was lost. The next one brings a new request.
      }
    }
    const badge = badgeOf(overview, paused());
    const text = JSON.stringify(badge);
    if (text === this.#shown) return;
    this.#shown = text;
    show(badge);
  }
}
