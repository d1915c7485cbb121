/**
 * What runs in the page's own world beside the debugger, for what the browser tells no debugger. It only listens. It
 * stands before nothing of the page's, except before the console while the page is left.
 */
import { Channel } from './channel';
import { witnessErrors } from './errors';
import { witnessConsole } from './logs';
import { WITNESS_HANDSHAKE } from './records';

const channel = new Channel(WITNESS_HANDSHAKE);
witnessErrors(channel);
witnessConsole(channel);
