// Bundles the project of a directory: node build.mjs TOOL MODE DIRECTORY. The bundle is dist/assets/app.js.
// Of `vite serve` the server's address is printed, and it ends with its standard input.
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const [tool, mode, root] = process.argv.slice(2);
const entry = path.join(root, 'src/index.tsx');
const out = path.join(root, 'dist/assets');

const tools = {
  async esbuild() {
    const { build } = await import('esbuild');
    const sourcemap = { url: true, inline: 'inline', hidden: 'external' }[mode];
    const outfile = path.join(out, 'app.js');
    await build({ entryPoints: [entry], outfile, bundle: true, minify: true, sourcemap, logLevel: 'warning' });
  },
  async vite() {
    const { build, createServer } = await import('vite');
    const shared = { root, configFile: false, logLevel: 'warn', cacheDir: path.join(root, '.vite') };
    if (mode === 'serve') {
      const server = await createServer({ ...shared, server: { host: '127.0.0.1', port: 0, hmr: false } });
      await server.listen();
      process.stdout.write(`${server.resolvedUrls.local[0]}\n`);
      process.stdin.on('end', () => void server.close()).resume();
      return;
    }
    const sourcemap = { url: true, inline: 'inline', hidden: 'hidden' }[mode];
    const output = { entryFileNames: 'assets/app.js' };
    await build({ ...shared, build: { sourcemap, minify: true, rollupOptions: { input: entry, output } } });
  },
  async webpack() {
    const { default: webpack } = await import('webpack');
    const devtool = { url: 'source-map', inline: 'inline-source-map', hidden: 'hidden-source-map' }[mode];
    const compiler = webpack({
      mode: 'production',
      context: root,
      entry,
      devtool,
      output: { path: out, filename: 'app.js', uniqueName: 'shop' },
      resolve: { extensions: ['.tsx', '.ts'] },
      module: { rules: [{ test: /\.tsx?$/, use: fileURLToPath(new URL('loader.cjs', import.meta.url)) }] },
    });
    await new Promise((resolve, reject) => {
      compiler.run((error, stats) => {
        if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString('errors-only')));
        else compiler.close(resolve);
      });
    });
  },
};
await tools[tool]();
