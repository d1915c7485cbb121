/**
 * What runs in the page's own world beside the debugger, for what the browser tells no debugger. It only listens. It
 * stands before nothing of the page's, except before the console while the page is left, and where custom elements get
 * their internals.
 */
import { Channel } from './channel';
import { hideSources } from './disguise';
import { witnessErrors } from './errors';
import { hookInternals } from './internals';
import { witnessConsole } from './logs';
import { WITNESS_HANDSHAKE } from './records';

const channel = new Channel(WITNESS_HANDSHAKE);
witnessErrors(channel);
witnessConsole(channel);
hideSources();
hookInternals(channel);
