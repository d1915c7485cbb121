// Builds every application for development and for production, with source maps, into dist.
//
//   node build.mjs

import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';

// Without the source maps of libraries, as the Angular CLI builds.
const libraries = {
  name: 'libraries',
  setup: ({ onLoad }) => onLoad({ filter: /node_modules.*\.m?js$/ }, async ({ path }) => ({ contents: (await readFile(path, 'utf8')).replace(/^\/\/# sourceMappingURL=.*/m, '') })),
};

for (const mode of ['development', 'production']) {
  await build({
    entryPoints: ['src/angular.js', 'src/router.jsx', 'src/vue.js'],
    outdir: `dist/${mode}`,
    bundle: true,
    minify: mode === 'production',
    sourcemap: true,
    jsx: 'automatic',
    conditions: [mode],
    plugins: [libraries],
    define: {
      'process.env.NODE_ENV': JSON.stringify(mode),
      __VUE_OPTIONS_API__: 'true',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
      ...(mode === 'production' && { ngDevMode: 'false' }),
    },
    logLevel: 'warning',
  });
}
