// Builds the unpacked extension into extension/dist, and the web dashboard into web/dashboard/dist: the pages as modules, the content script and
// the hooks in the page's own world as classic scripts (content scripts cannot be modules), the worker as one module.
//
//   node extension/build.mjs            minified
//   node extension/build.mjs --dev      readable, with inline source maps

import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { patched } from './patched.mjs';

const root = import.meta.dirname;
const dist = join(root, 'dist');
/** The web dashboard, which the daemon serves, is no part of the extension. */
const dashboard = join(root, '..', 'web', 'dashboard');
const dev = process.argv.includes('--dev');

/** The names of pages; each is a folder with an index.html. A page that is not there is left out. */
const pages = ['popup', 'panel', 'sidepanel', 'devtools'];

/**
 * Has the library that computes names leave out U+FEFF as it does other characters that show nothing: it takes it for a
 * blank, which would divide a secret.
 */
const markless = {
  name: 'markless',
  transform(code, id) {
    if (!code.includes('function asFlatString(')) return undefined;
    const shows = '[\\u200b\\u00ad]';
    if (!code.includes(shows)) throw new Error(`${id} does not leave out what it did`);
    return code.replaceAll(shows, '[\\u200b\\u00ad\\ufeff]');
  },
};

const common = {
  root,
  base: './',
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  plugins: [patched(), markless],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  define: { 'process.env.NODE_ENV': JSON.stringify(dev ? 'development' : 'production') },
};

const output = {
  outDir: dist,
  emptyOutDir: false, // dist/.gitignore is committed: Go embeds the folder before there is a build
  target: 'chrome120',
  minify: !dev,
  sourcemap: dev ? 'inline' : false,
  reportCompressedSize: false,
  modulePreload: { polyfill: false },
};

/** What pages are made of is named after it. */
const names = {
  entryFileNames: 'assets/[name].js',
  chunkFileNames: 'assets/[name].js',
  assetFileNames: 'assets/[name][extname]',
};

/** Lists the npm packages that a build bundled, with their licences; releases carry the list. */
const license = (name) => ({ fileName: `licenses/${name}.json` });

/** Builds one script that stands alone, as `name`.js. */
const script = (entry, name, format) =>
  build({
    ...common,
    build: {
      ...output,
      license: license(name),
      lib: { entry: join(root, entry), formats: [format], name: 'tidemark', fileName: () => `${name}.js` },
    },
  });

/**
 * Gives the hooks a name of their own: what a page logs through a script of an extension's address, Chromium
 * would file as the extension's error, stack and all. The source map, which maps nothing but says that the
 * script is to be ignored, has DevTools show the page's line, not this one.
 */
async function nameHooks(file) {
  const code = (await readFile(file, 'utf8')).replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '');
  const name = 'tidemark-page.js';
  const lines = code.split('\n').map((_, n) => (n === 0 ? 'AAAA' : 'AACA'));
  const map = { version: 3, sources: [name], names: [], mappings: lines.join(';'), ignoreList: [0] };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  await writeFile(file, `${code.trimEnd()}\n//# sourceURL=${name}\n//# sourceMappingURL=${url}\n`);
}

for (const folder of [dist, join(dashboard, 'dist')]) {
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) {
    if (name !== '.gitignore') await rm(join(folder, name), { recursive: true });
  }
}

const manifest = JSON.parse(await readFile(join(root, 'manifest.json'), 'utf8'));
const { version } = JSON.parse(await readFile(join(root, '..', 'package.json'), 'utf8'));
await writeFile(join(dist, 'manifest.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
await cp(join(root, 'icons'), join(dist, 'icons'), {
  recursive: true,
  filter: (source) => !source.endsWith('.svg'),
});

await cp(join(root, '_locales'), join(dist, '_locales'), { recursive: true });

await script('background/main.ts', 'background', 'es');
await script('content/main.ts', 'content', 'iife');
await script('page/main.ts', 'page', 'iife');
await nameHooks(join(dist, 'page.js'));
await script('page/witness.ts', 'witness', 'iife');
await nameHooks(join(dist, 'witness.js'));
await script('content/aria/main.ts', 'aria', 'iife');
await build({
  ...common,
  build: {
    ...output,
    license: license('pages'),
    rollupOptions: {
      input: Object.fromEntries(
        pages.map((page) => [page, join(root, page, 'index.html')]).filter(([, file]) => existsSync(file)),
      ),
      output: names,
    },
  },
});
await build({
  ...common,
  root: dashboard, // so that its page is not below a folder of this name
  build: {
    ...output,
    outDir: join(dashboard, 'dist'),
    license: license('dashboard'),
    rollupOptions: { input: join(dashboard, 'index.html'), output: names },
  },
});
await cp(join(root, 'icons', 'mark.svg'), join(dashboard, 'dist', 'icon.svg'));
