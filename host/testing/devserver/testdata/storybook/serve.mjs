import { run } from './port.mjs';

await run('node_modules/storybook/bin/index.cjs', (port) => ['dev', '--ci', '--quiet', '--host', '127.0.0.1', '--port', port], '/iframe.html');
