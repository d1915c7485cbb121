import { run } from './command.mjs';

await run('node_modules/storybook/dist/bin/dispatcher.js', (port) => ['dev', '--ci', '--quiet', '--host', '127.0.0.1', '--port', port], '/iframe.html');
