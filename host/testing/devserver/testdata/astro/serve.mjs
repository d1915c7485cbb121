// Serves the application with Astro's development server, and says where. It ends with its standard input.
import react from '@astrojs/react';
import { dev } from 'astro';
import { api } from './api.mjs';

process.env.ASTRO_TELEMETRY_DISABLED = '1';
const routes = {
  name: 'api',
  configureServer(server) {
    server.middlewares.use('/api', api);
  },
};
const server = await dev({
  root: import.meta.dirname,
  configFile: false,
  logLevel: 'silent',
  devToolbar: { enabled: false },
  integrations: [react()],
  vite: { plugins: [routes] },
  server: { host: '127.0.0.1', port: Number(process.env.PORT ?? 0) },
});
console.log(`http://127.0.0.1:${server.address.port}`);
process.stdin.on('end', () => process.exit(0)).resume();
