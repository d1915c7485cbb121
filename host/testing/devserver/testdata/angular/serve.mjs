// Angular's development server has no routes of the application, so that these have a server of their own.
import { createServer } from 'node:http';
import { api } from './api.mjs';
import { run } from './port.mjs';

const routes = createServer(api);
await new Promise((listening) => routes.listen(0, '127.0.0.1', listening));
process.env.API = `http://127.0.0.1:${routes.address().port}`;
await run('node_modules/@angular/cli/bin/ng.js', (port) => ['serve', '--host', '127.0.0.1', '--port', port]);
