import { dirname } from 'node:path';
import { defineConfig } from 'vitest/config';
import { patched } from './patched.mjs';

// Tests run in plain Node; one that needs a document says so in its first line:
// `// @vitest-environment happy-dom`.
export default defineConfig({
  root: dirname(import.meta.dirname),
  cacheDir: 'node_modules/.vite',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [patched()],
  test: {
    testTimeout: 60_000, // a loaded machine is not a failure
    include: ['{extension,web}/**/*.test.{ts,tsx}'],
    exclude: ['extension/dist/**', 'web/dashboard/dist/**'],
    server: { deps: { inline: ['ivya'] } }, // corrected as in the build
    passWithNoTests: true,
    // Two workers serve the small machines that run this in CI; more only compete for cores.
    maxWorkers: 2,
  },
});
