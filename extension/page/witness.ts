/**
 * What runs in the page's own world beside the debugger. It stands before nothing of the page's: it only
 * listens for what the browser tells no debugger.
 */
import { Channel } from './channel';
import { witnessErrors } from './errors';
import { WITNESS_HANDSHAKE } from './records';

witnessErrors(new Channel(WITNESS_HANDSHAKE));
