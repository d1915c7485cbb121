// Corrects packages while they are bundled: a patch, as `diff -u` writes it, is applied to the package's files.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The plugin of Vite that applies extension/ivya.patch. */
export function patched() {
  const patches = read(readFileSync(join(import.meta.dirname, 'ivya.patch'), 'utf8'));
  return {
    name: 'patched',
    enforce: 'pre',
    transform(code, id) {
      const file = Object.keys(patches).find((name) => id.split('?')[0].endsWith(`/ivya/${name}`));
      return file === undefined ? undefined : { code: apply(code, patches[file], id), map: null };
    },
  };
}

/** The changes that a patch makes to each file, in its order. */
export function read(patch) {
  const files = {};
  let changes;
  let change;
  for (const line of patch.split('\n')) {
    const file = /^\+\+\+ b\/(.*)/.exec(line);
    const at = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (file !== null) {
      files[file[1]] ??= [];
      changes = files[file[1]];
    } else if (at !== null) {
      change = { at: Number(at[1]), before: [], after: [] };
      changes.push(change);
    } else if (change !== undefined && /^(?:[ +]|-(?!-- ))/.test(line)) {
      if (line[0] !== '+') change.before.push(line.slice(1));
      if (line[0] !== '-') change.after.push(line.slice(1));
    } else {
      change = undefined; // what explains the next one
    }
  }
  return files;
}

/** Makes changes; throws where the text is not the one that they were made for. */
export function apply(text, changes, name) {
  const lines = text.split('\n');
  for (const { at, before, after } of changes) {
    const found = lines.slice(at - 1, at - 1 + before.length);
    if (found.join('\n') !== before.join('\n'))
      throw new Error(
        `${name}: line ${at} differs from what ivya.patch corrects. Adapt the patch to the new version.`,
      );
    lines.splice(at - 1, before.length, ...after);
  }
  return lines.join('\n');
}
