import type { Plugin } from 'vite';
import { WebSocketServer } from 'ws';

// The development server answers for the API, each time from the sources as they are then.
export function backend(): Plugin {
  return {
    name: 'backend',
    configureServer(vite) {
      const live = new WebSocketServer({ noServer: true });
      vite.httpServer?.on('upgrade', (req, socket, head) => {
        if (req.url !== '/live') return; // Vite's own
        live.handleUpgrade(req, socket, head, (client) => client.send('{"type":"hello"}'));
      });
      vite.middlewares.use('/api', async (req, res, next) => {
        try {
          const { server } = await vite.ssrLoadModule('/server/api.ts');
          server(req, res, next);
        } catch (error) {
          next(error);
        }
      });
    },
  };
}
