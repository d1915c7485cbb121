/**
 * The service worker. It may be ended at any moment and begins anew with the next event: all listeners
 * are registered before anything is waited for, and what a new life must know is in storage.
 */
import { createWorker } from './worker';

const { setWay } = createWorker(chrome, navigator);

/** Who launches the browser speaks to the worker through the debugging pipe. */
Object.assign(globalThis, { setWay });
