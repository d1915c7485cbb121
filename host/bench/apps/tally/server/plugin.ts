import { readFile } from 'node:fs/promises';
import type { Plugin } from 'vite';

// The development server answers for the API and renders pages, each time from the sources as they are then.
export function backend(): Plugin {
  return {
    name: 'backend',
    configureServer(vite) {
      vite.middlewares.use(async (req, res, next) => {
        if (!/^\/(api|graphql)\b/.test(req.url ?? '')) return next();
        try {
          const { app } = await vite.ssrLoadModule('/server/app.ts');
          app(req, res);
        } catch (error) {
          next(error);
        }
      });
      return () => {
        vite.middlewares.use(async (req, res, next) => {
          try {
            const url = req.originalUrl ?? '/';
            const page = await vite.transformIndexHtml(url, await readFile('index.html', 'utf8'));
            const { sessionOf } = await vite.ssrLoadModule('/server/app.ts');
            const { render } = await vite.ssrLoadModule('/src/entry-server.tsx');
            const session = sessionOf(req) ?? null;
            const state = `<script>window.session = ${JSON.stringify(session)}</script>`;
            res.setHeader('Content-Type', 'text/html; charset=utf-8');
            res.end(page.replace('<!--app-->', render(url, session)).replace('<script type="module"', `${state}$&`));
          } catch (error) {
            next(error);
          }
        });
      };
    },
  };
}
