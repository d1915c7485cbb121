// Serves the application with the development server of Next.js and a bundler, and says where. It ends with its standard input.
import { createServer } from 'node:http';
import next from 'next';

export async function serve(bundler) {
  process.env.NEXT_TELEMETRY_DISABLED = '1';
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  const app = next({ dev: true, dir: import.meta.dirname, hostname: '127.0.0.1', port, quiet: true, ...bundler });
  await app.prepare();
  const handle = app.getRequestHandler();
  server.on('request', (request, response) => handle(request, response));
  server.on('upgrade', app.getUpgradeHandler());
  console.log(`http://127.0.0.1:${port}`);
  process.stdin.on('end', () => process.exit(0)).resume();
}
