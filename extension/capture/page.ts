/** Follows what the tab's top frame shows: loads, reloads, changes of the address, crashes. */
import type { Protocol } from 'devtools-protocol';
import type { AnyEvent } from '../protocol';
import { redactURL } from '../redact/redact';
import type { TabContext } from './context';

type How = Extract<AnyEvent, { kind: 'navigation' }>['how'];

/** What others do when the top document changes. */
export interface PageHooks {
  /** The top document is being replaced. */
  leaving(): void;
  /** The top document was replaced, with everything in it. Returns whether the new one is watched. */
  replaced(loader: string, url: string): boolean;
  /** The page's process has ended, with everything in it. */
  crashed(): void;
}

/** Reports navigations of the top frame only. */
export class PageTracker {
  readonly #tab: TabContext;
  readonly #hooks: PageHooks;
  #top: string | undefined;
  #url = '';
  /** How the navigation that was announced last is done, and its loader. */
  #started: { loader: string; reload: boolean } | undefined;
  /** Whether a document was seen to be shown since capture began. */
  committed = false;

  constructor(tab: TabContext, hooks: PageHooks) {
    this.#tab = tab;
    this.#hooks = hooks;
  }

  startedNavigating({ frameId, loaderId, navigationType }: Protocol.Page.FrameStartedNavigatingEvent): void {
    // Frames of the page's own process are announced here too; until the top one is known, any may be it.
    if (this.#top !== undefined && frameId !== this.#top) return;
    if (navigationType === 'sameDocument' || navigationType === 'historySameDocument') return;
    this.#started = { loader: loaderId, reload: navigationType.startsWith('reload') };
    if (this.#top !== undefined) this.#hooks.leaving();
  }

  navigated({ frame }: Protocol.Page.FrameNavigatedEvent): void {
    if (frame.parentId !== undefined) return;
    this.#top = frame.id;
    this.committed = true;
    const reload = this.#started?.loader === frame.loaderId && this.#started.reload;
    this.#started = undefined;
    // A page that could not be loaded is shown as an error page under the address that was asked for.
    const url = (frame.unreachableUrl ?? frame.url) + (frame.urlFragment ?? '');
    const watched = this.#hooks.replaced(frame.loaderId, url);
    // For an unwatched page, only the navigation to it is reported.
    this.#emit(reload ? 'reload' : 'load', watched ? url : originOf(url));
  }

  withinDocument({ frameId, url, navigationType }: Protocol.Page.NavigatedWithinDocumentEvent): void {
    if (frameId !== this.#top || url === this.#url) return;
    this.#emit(navigationType === 'fragment' ? 'hash' : 'history', url);
  }

  crashed(): void {
    this.#hooks.crashed();
    this.#emit('crash', this.#url || 'about:blank');
  }

  /** The address that is shown; empty while it is not known. */
  get url(): string {
    return this.#url;
  }

  /** Whether a frame is the tab's top one; undefined while that is not known. */
  isTop(frame: string | undefined): boolean | undefined {
    return this.#top === undefined ? undefined : frame === this.#top;
  }

  /** Names the document that was there when capture began, and reports it when it is `news`. */
  present(frame: string, url: string, news?: { how: How; at: number }): void {
    this.#top = frame;
    if (this.committed) return;
    if (news === undefined) this.#url = url;
    else this.#emit(news.how, url, news.at);
  }

  #emit(how: How, raw: string, at = this.#tab.clock.now()): void {
    this.#url = raw;
    const url = redactURL(raw);
    this.#tab.emit({
      kind: 'navigation',
      at,
      tab: this.#tab.tab,
      ...(url.masked > 0 && { masked: url.masked }),
      how,
      url: url.text,
    });
  }
}

function originOf(url: string): string {
  try {
    const { origin } = new URL(url);
    return origin === 'null' ? 'about:blank' : `${origin}/`;
  } catch {
    return 'about:blank';
  }
}
