/** The viewer's client in the extension: the worker's port, for as long as the page is open. */
import { signal } from '@preact/signals';
import type { Ask, Connection, ViewerClient } from '../../web/ui/client';
import { type FromViewer, type ToViewer, VIEWER_PORT } from '../messages';
import type { Place } from '../protocol';
import { t } from '../text';

type Request = FromViewer extends infer Each ? (Each extends FromViewer ? Omit<Each, 'id'> : never) : never;

const RECONNECT_MS = 200;

/** What the page around the viewer can do beside asking. */
export type Abilities = Pick<ViewerClient, 'tab' | 'openSource'>;

/** Connects to the worker; it may be ended and started again meanwhile. */
export function connectToWorker(abilities: Abilities): ViewerClient {
  const connection = signal<Connection>({ state: 'connecting', text: t('loading') });
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let lastID = 0;
  let port: chrome.runtime.Port | undefined;

  const connect = (): chrome.runtime.Port => {
    const opened = chrome.runtime.connect({ name: VIEWER_PORT });
    opened.onMessage.addListener((message: ToViewer) => {
      if (message.t === 'connection') {
        const { state, text } = message.connection;
        connection.value = { state, text };
        return;
      }
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error === undefined) asked?.resolve(message.result);
      else asked?.reject(new Error(message.error));
    });
    opened.onDisconnect.addListener(() => {
      void chrome.runtime.lastError;
      port = undefined;
      connection.value = { state: 'connecting', text: t('loading') };
      for (const { reject } of waiting.values()) reject(new Error(t('restarted')));
      waiting.clear();
      setTimeout(() => {
        port ??= connect();
      }, RECONNECT_MS);
    });
    return opened;
  };

  const send = (request: Request): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lastID++;
      waiting.set(lastID, { resolve, reject });
      try {
        port ??= connect();
        port.postMessage({ ...request, id: lastID });
      } catch (error) {
        waiting.delete(lastID);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });

  port = connect();
  return {
    connection,
    ask: ((method, params) => send({ t: 'ask', method, params })) as Ask,
    connect: () => {
      send({ t: 'connect' }).catch(() => undefined); // how it went, the connection's state tells
    },
    reveal: async (tab, selector) => {
      await send({ t: 'reveal', tab, selector });
    },
    ...abilities,
  };
}

/** Opens a place in the Sources panel: the original file where DevTools knows it, else what was loaded. */
export async function openInSources(place: Place): Promise<boolean> {
  const open = (url: string, line: number, column: number): Promise<boolean> =>
    new Promise((resolve) => {
      chrome.devtools.panels.openResource(
        url,
        Math.max(0, line - 1),
        Math.max(0, column - 1),
        (answer?: unknown) => resolve((answer as { isError?: boolean } | undefined)?.isError !== true),
      );
    });
  const { file, file_line: line = 1, file_column: column = 1 } = place;
  if (file !== undefined && /^\w+:\/\//.test(file) && (await open(file, line, column))) return true;
  return await open(place.url, place.line ?? 1, place.column ?? 1);
}
