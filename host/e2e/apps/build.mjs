// Builds every application into one script each, in the folder that is named.
//
//   node build.mjs OUT

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from 'svelte/compiler';
import { build } from 'vite';

const root = import.meta.dirname;
const out = process.argv[2];

const svelte = {
  name: 'svelte',
  async load(id) {
    if (!id.endsWith('.svelte')) return undefined;
    const { js } = compile(await readFile(id, 'utf8'), { generate: 'client', filename: id });
    return js.code;
  },
};

const frameworks = ['react', 'preact', 'vue', 'svelte', 'lit', 'jquery', 'backbone'];
const editors = ['quill', 'lexical', 'prosemirror', 'codemirror', 'ckeditor'].map((name) => `editor/${name}`);
for (const app of [...frameworks, ...frameworks.map((name) => `todo/${name}`), ...editors]) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [svelte],
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { conditions: ['browser', 'module', 'import', 'default'] },
    build: {
      outDir: out,
      emptyOutDir: false,
      lib: { entry: join(root, `${app}.js`), formats: ['iife'], name: 'app', fileName: () => `${app.replace('/', '-')}.js` },
    },
  });
}
