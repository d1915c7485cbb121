import type { ContentEvent, FromContent, ToContent } from '../messages';
import { Actions } from './actions';
import { EmptyPage } from './broken/empty-page';
import { FailedModules } from './broken/failed-modules';
import { titleOf } from './dom';
import { ErrorElements } from './error-elements';
import { SensitiveFields } from './sensitive/fields';
import { holdingsOf } from './sensitive/holdings';

/** The most events kept while the worker is being restarted; beyond it the oldest go. */
const MAX_KEPT = 1000;

/**
 * Records the actions and error elements of one document, and reports each at once. It is off until the
 * worker turns it on.
 *
 * Recording continues while the worker restarts. If the new worker turns recording on again, it first gets
 * all visible error elements, then the events of the meantime.
 */
export class Recorder {
  readonly #post: (message: FromContent) => boolean;
  readonly #view: Window;
  readonly #sensitive: SensitiveFields;
  readonly #actions: Actions;
  readonly #elements: ErrorElements;
  readonly #empty: EmptyPage | undefined;
  readonly #modules: FailedModules | undefined;
  #on = false;
  #mask = '';
  /** The title that was read last. */
  #title = '';
  /** Events that no worker has taken, in order; sent once there is one. */
  #kept: ContentEvent[] = [];
  /** Whether the worker has sent its first message; events are kept until then. */
  #heard = false;

  /** `onShadowRoot` is told of every open shadow root that is found while recording. */
  constructor(
    view: Window,
    post: (message: FromContent) => boolean,
    signal: AbortSignal,
    onShadowRoot: (root: ShadowRoot) => void = () => undefined,
  ) {
    this.#view = view;
    this.#post = post;
    this.#sensitive = new SensitiveFields(signal, holdingsOf(view), (held) => {
      if (this.#on) post({ t: 'held', held });
    });
    this.#sensitive.observe(view.document); // the page may replace a field before the worker has spoken
    this.#actions = new Actions(view, {
      emit: (event) => this.#emit([event]),
      mask: () => this.#mask,
      enabled: () => this.#on,
      sensitive: this.#sensitive,
      signal,
    });
    const document = documentName();
    const emit = (event: ContentEvent): void => this.#emit([event]);
    if (view.parent === view) {
      this.#empty = new EmptyPage(view.document, { document, emit, signal });
      this.#modules = new FailedModules(view.document, { document, emit, signal });
    }
    this.#elements = new ErrorElements(view.document, {
      document,
      emit: (events) => this.#emit(events),
      onChanges: (records) => {
        this.#empty?.changed(records);
        this.#readTitle();
      },
      onShadowRoot: (root) => {
        this.#sensitive.observe(root);
        onShadowRoot(root);
      },
      signal,
    });
  }

  /** What is known of the page's fields; snapshots mask by it too. */
  get sensitive(): SensitiveFields {
    return this.#sensitive;
  }

  /** Takes a message of the worker. */
  take(message: ToContent): void {
    if (message.t === 'watch') {
      this.#mask = message.mask;
      this.#watch(message.on);
    } else if (message.t === 'flush') {
      this.flush();
      this.#post({ t: 'flushed', id: message.id });
    } else this.#modules?.unimported(message.url, message.at);
  }

  /** The connection to the worker was opened. The worker first sends whether to record. */
  connected(): void {
    this.#heard = false;
    this.#title = '';
  }

  /** Reports all waiting events. */
  flush(): void {
    if (!this.#on) return;
    this.#actions.flush();
    this.#elements.flush();
  }

  #watch(on: boolean): void {
    const anew = !this.#heard;
    this.#heard = true;
    if (!on) {
      this.#on = false;
      this.#kept = [];
      this.#actions.discard();
      this.#elements.stop(!anew);
      this.#empty?.stop();
      this.#modules?.stop();
      this.#sensitive.unobserve();
    } else if (!this.#on) {
      this.#on = true;
      this.#sensitive.observe(this.#view.document);
      this.#elements.start(this.#view);
      this.#empty?.start(this.#view);
      this.#modules?.start();
    } else if (anew) {
      this.#tellAgain();
    }
    if (on && anew) this.#sensitive.tell();
  }

  /** Reports how the page's title is shown, if it contains what a sensitive field holds. */
  #readTitle(): void {
    const title = titleOf(this.#view.document);
    if (title === this.#title) return;
    this.#title = title;
    const told = JSON.stringify(title);
    const hidden = this.#sensitive.hide(told);
    if (hidden !== told) this.#post({ t: 'title', title, shown: JSON.parse(hidden) as string });
  }

  /** The worker is a new one: it knows nothing of what is shown, and has not heard what was kept. */
  #tellAgain(): void {
    const shown = [
      ...this.#elements.shown(),
      ...(this.#empty?.shown() ?? []),
      ...(this.#modules?.shown() ?? []),
    ];
    const isShown = new Set(shown.map((event) => event.kind === 'element' && event.id));
    const appeared = new Set<number>();
    const missed = this.#kept.filter((event) => {
      if (event.kind !== 'element') return true;
      if (event.op === 'appeared') appeared.add(event.id);
      // Of those that it never heard of, only the ones that came and went meanwhile are news.
      return appeared.has(event.id) && !isShown.has(event.id);
    });
    this.#kept = [];
    this.#emit([...shown, ...missed]);
  }

  #emit(all: ContentEvent[]): void {
    if (all.length === 0) return;
    const told = JSON.stringify(all);
    const hidden = this.#sensitive.hide(told);
    const events = hidden === told ? all : (JSON.parse(hidden) as ContentEvent[]);
    if (this.#heard && this.#post({ t: 'events', events })) return;
    this.#heard = false;
    this.#kept.push(...events);
    if (this.#kept.length > MAX_KEPT) this.#kept.splice(0, this.#kept.length - MAX_KEPT);
  }
}

/** A name that no other document has; `crypto.randomUUID` is missing on plain http pages. */
function documentName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
