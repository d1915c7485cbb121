import type { FromContent } from '../messages';
import { HANDSHAKE, WITNESS_HANDSHAKE } from '../page/records';
import { isMedia } from '../page/resources';
import { Link } from './link';
import { PageHooks, ShadowResources } from './page-hooks';
import { Recorder } from './recorder';
import type { SensitiveFields } from './sensitive/fields';

/**
 * The content script of every frame. It runs in a world of its own: the page sees no global, no
 * changed element, no listener of it.
 */
function main(): void {
  const ending = new AbortController();
  const resources = new ShadowResources((record) => {
    // The one that is not wanted drops it.
    hooks.add(record);
    if (isMedia(record[2])) witness.add(record);
  }, ending.signal);
  const recorder = new Recorder(
    window,
    (message) => link.post(message),
    ending.signal,
    (root) => resources.observe(root),
  );
  world.tidemarkSensitive = recorder.sensitive;
  const pass =
    (from: { witness?: true }) =>
    (lists: string[], dropped: number): boolean =>
      link.post({ t: 'page', lists, ...from, ...(dropped > 0 && { dropped }) });
  const hooks = new PageHooks(document, HANDSHAKE, pass({}), ending.signal);
  // Beside the debugger it reports what the debugger does not. The hooks of quiet capture see that themselves.
  const witness = new PageHooks(document, WITNESS_HANDSHAKE, pass({ witness: true }), ending.signal);
  const hooked = (): void => {
    const { from } = hooks;
    link.post({ t: 'hooked', ...(from !== undefined && { from }) });
  };
  hooks.found = hooked;
  const witnessed = (): void => void link.post({ t: 'hooked', witness: true });
  witness.found = witnessed;
  const link = new Link(
    {
      connected: () => {
        recorder.connected();
        hooks.disconnected();
        witness.disconnected();
        if (hooks.there) hooked();
        if (witness.there) witnessed();
      },
      message: (message) => {
        if (message.t === 'watch') {
          hooks.want(message.on && message.hooks === true);
          witness.want(message.on && message.hooks !== true);
        } else if (message.t === 'flush') {
          hooks.flush();
          witness.flush();
        }
        recorder.take(message);
      },
      leaving: () => {
        hooks.leave();
        witness.leave();
        recorder.flush();
      },
      orphaned: () => ending.abort(),
    },
    ending.signal,
  );
  // A page rendered ahead of time has not been opened by anybody yet.
  const { prerendering } = document as Document & { prerendering?: boolean };
  world.tidemarkAttributes = (element) => hooks.attributesOf(element) ?? witness.attributesOf(element);
  world.tidemarkTell = (message) => link.post(message);
  // A second script in the page's world would add its frames to every stack there, so each is asked for once.
  const missing = { quiet: () => !hooks.there, debugger: () => !witness.there };
  const brought = new Set<keyof typeof missing>();
  world.tidemarkLacks = (way) => {
    if (brought.has(way) || !missing[way]()) return false;
    brought.add(way);
    return true;
  };
  if (prerendering) document.addEventListener('prerenderingchange', () => link.connect(), { once: true });
  else link.connect();
}

// Chromium may run the script twice in a frame that was open when its site was switched on. The
// flag stands in the extension's own world, which the page cannot see and which ends with it.
const world = globalThis as {
  tidemarkRuns?: boolean;
  tidemarkSensitive?: SensitiveFields;
  tidemarkTell?: (message: FromContent) => boolean;
  tidemarkLacks?: (way: 'quiet' | 'debugger') => boolean;
  tidemarkAttributes?: (element: Element) => string | undefined;
};
if (world.tidemarkRuns !== true) {
  world.tidemarkRuns = true;
  main();
}
