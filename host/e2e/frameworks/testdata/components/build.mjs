// Builds the page of every component into dist: its script, its styles, and the files that these name.
//
//   node build.mjs

import { readdir } from 'node:fs/promises';
import { build } from 'esbuild';

const pages = await readdir('src');
await build({
  entryPoints: pages.map((name) => `src/${name}`),
  outdir: 'dist',
  bundle: true,
  minify: true,
  jsx: 'automatic',
  define: {
    'process.env.NODE_ENV': '"production"',
    __VUE_OPTIONS_API__: 'true',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
  loader: { '.ttf': 'file', '.png': 'file', '.svg': 'file', '.woff2': 'file' },
  logLevel: 'error',
});
