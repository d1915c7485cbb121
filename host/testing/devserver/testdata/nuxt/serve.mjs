import { run } from './port.mjs';

await run('node_modules/nuxt/bin/nuxt.mjs', (port) => ['dev', '--no-fork', '--no-clear', '--host', '127.0.0.1', '--port', port]);
