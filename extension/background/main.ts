/**
 * The service worker. The browser may stop it at any moment and restart it with the next event. So all listeners
 * are registered before the first await, and the state for the next run is in storage.
 */
import { createWorker } from './worker';

const { setWay, expectPage } = createWorker(chrome, navigator);

/** The program that launches the browser calls the worker through the debugging pipe. */
Object.assign(globalThis, { setWay, expectPage });
