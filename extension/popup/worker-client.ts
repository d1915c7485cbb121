import { type ReadonlySignal, signal } from '@preact/signals';
import {
  type AskHost,
  type FromPopup,
  POPUP_PORT,
  type PopupState,
  type ToPopup,
  type Way,
} from '../messages';
import { t } from '../text';

/** What the popup sees of the worker, and asks of it. Requests reject with words for a person. */
export interface WorkerClient {
  /** The newest state; undefined until the worker has spoken. */
  readonly state: ReadonlySignal<PopupState | undefined>;
  setWatched(tab: number, on: boolean, scope: 'tab' | 'origin'): Promise<void>;
  setWay(tab: number, way: Way): Promise<void>;
  readonly ask: AskHost;
  /** Lets whatever an agent has paused in a tab go on. */
  resume(tab: number): Promise<void>;
  /** Nothing is watched until it is resumed. */
  pause(paused: boolean): Promise<void>;
  /** Asks the host for its view again; connects to it at once when there is no connection. */
  refresh(): Promise<void>;
}

type Done = Extract<ToPopup, { t: 'done' }>;
type Request = FromPopup extends infer Each ? (Each extends FromPopup ? Omit<Each, 'id'> : never) : never;

const RECONNECT_AFTER = 200;

/** Connects to the worker for as long as the page is open; the worker may be restarted meanwhile. */
export function connectToWorker(): WorkerClient {
  const state = signal<PopupState | undefined>(undefined);
  const waiting = new Map<number, { resolve: (done: Done) => void; reject: (error: Error) => void }>();
  let lastID = 0;
  let port: chrome.runtime.Port | undefined;

  const connect = (): chrome.runtime.Port => {
    const opened = chrome.runtime.connect({ name: POPUP_PORT });
    opened.onMessage.addListener((message: ToPopup) => {
      if (message.t === 'state') {
        state.value = message.state;
        return;
      }
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error !== undefined) asked?.reject(new Error(message.error));
      else asked?.resolve(message);
    });
    opened.onDisconnect.addListener(() => {
      void chrome.runtime.lastError;
      port = undefined;
      for (const { reject } of waiting.values()) reject(new Error(t('restarted')));
      waiting.clear();
      setTimeout(() => {
        port ??= connect();
      }, RECONNECT_AFTER);
    });
    return opened;
  };

  const send = (request: Request): Promise<Done> =>
    new Promise((resolve, reject) => {
      lastID++;
      port ??= connect();
      waiting.set(lastID, { resolve, reject });
      port.postMessage({ ...request, id: lastID });
    });

  port = connect();
  return {
    state,
    setWatched: async (tab, on, scope) => {
      await send({ t: 'set_watched', tab, on, scope });
    },
    setWay: async (tab, way) => {
      await send({ t: 'set_way', tab, way });
    },
    ask: async (method, params) => (await send({ t: 'ask', method, params })).result as never,
    resume: async (tab) => {
      await send({ t: 'resume', tab });
    },
    pause: async (paused) => {
      await send({ t: 'pause', paused });
    },
    refresh: async () => {
      await send({ t: 'refresh' });
    },
  };
}
