// Serves the application with Vite's development server, and says where. It ends with its standard input.
import react from '@vitejs/plugin-react';
import { createServer } from 'vite';

const api = {
  name: 'api',
  configureServer(server) {
    server.middlewares.use('/api', (request, response) => {
      response.statusCode = request.url.startsWith('/items') ? 200 : 500;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify([{ name: 'pen', cents: 120 }, { name: 'ink', cents: 340 }]));
    });
  },
};
const server = await createServer({
  root: import.meta.dirname,
  configFile: false,
  logLevel: 'silent',
  plugins: [react(), api],
  server: { host: '127.0.0.1', port: Number(process.env.PORT ?? 0) },
});
await server.listen();
console.log(server.resolvedUrls.local[0]);
process.stdin.on('end', () => process.exit(0)).resume();
