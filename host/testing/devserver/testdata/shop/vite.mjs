// Serves the application with Vite's development server, and says where. It ends with its standard input. Without plugins the
// configuration is in a file.
import { createServer } from 'vite';
import { api } from './api.mjs';

const routes = {
  name: 'api',
  configureServer(server) {
    server.middlewares.use('/api', api);
  },
};

export async function serve(...plugins) {
  const server = await createServer({
    root: import.meta.dirname,
    configFile: plugins.length > 0 ? false : undefined,
    logLevel: 'silent',
    plugins: [routes, ...plugins],
    server: { host: '127.0.0.1', port: Number(process.env.PORT ?? 0) },
  });
  await server.listen();
  // Of a file that is written while Vite looks for files to watch, it may miss every later edit.
  const { watcher } = server;
  if (watcher._readyEmitted === false) await new Promise((ready) => watcher.once('ready', ready));
  console.log(server.resolvedUrls.local[0]);
  process.stdin.on('end', () => process.exit(0)).resume();
}
