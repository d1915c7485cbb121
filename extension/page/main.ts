/**
 * The hooks of quiet capture, in the page's own world, before the page's first script. The page must not
 * be able to tell that they are there, and nothing that it does to its own world may stop them.
 */
import { Channel } from './channel';
import { hideSources } from './disguise';
import { hookErrors } from './errors';
import { hookInternals } from './internals';
import { hookConsole } from './logs';
import { hookRequests } from './requests';
import { hookEventSources, hookSockets, hookWorkers } from './sockets';

/** One that runs later in the same document finds the first one's listener: it is asked, and answers. */
function main(): void {
  const channel = new Channel();
  hideSources();
  hookConsole(channel);
  hookErrors(channel);
  hookRequests(channel);
  hookSockets(channel);
  hookEventSources(channel);
  hookWorkers(channel);
  hookInternals(channel);
}

main();
