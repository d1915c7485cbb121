import type { Plugin } from 'vite';
import { WebSocketServer } from 'ws';

// The development server answers for the API, each time from the sources as they are then.
export function backend(): Plugin {
  return {
    name: 'backend',
    configureServer(vite) {
      const live = new WebSocketServer({ noServer: true });
      vite.httpServer?.on('upgrade', (req, socket, head) => {
        const url = new URL(req.url ?? '/', 'http://localhost');
        if (url.pathname !== '/live') return; // Vite's own
        if (url.searchParams.get('v') !== '2') {
          socket.end('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
          return;
        }
        live.handleUpgrade(req, socket, head, (client) => {
          client.send(JSON.stringify({ type: 'hello', online: live.clients.size }));
        });
      });
      vite.middlewares.use(async (req, res, next) => {
        if (!req.url?.startsWith('/api/')) return next();
        try {
          const { handle } = await vite.ssrLoadModule('/server/api.ts');
          await handle(req, res);
        } catch (error) {
          next(error);
        }
      });
    },
  };
}
