import { expect, test } from 'vitest';

/** What a folder may have at most, without those in it, and what a file may: a reader takes in one folder at a time. */
const FILES = 20;
const FOLDER_LINES = 3500;
const FILE_LINES = 600;

const sources = import.meta.glob<string>(
  [
    './**/*.{ts,tsx,mjs}',
    '../web/**/*.{ts,tsx}',
    '!./**/*.test.{ts,tsx}',
    '!../web/**/*.test.{ts,tsx}',
    '!../web/dashboard/dist/**',
    '!./**/testdata/**',
    '!./**/dist/**',
    '!./{protocol,protocol-rules,report,methods,timeline}.ts', // generated
  ],
  { query: '?raw', import: 'default', eager: true },
);

const lines = Object.entries(sources).map(([file, text]) => ({
  file,
  folder: file.slice(0, file.lastIndexOf('/')),
  lines: text.replace(/\n$/, '').split('\n').length,
}));

test('all of the extension and of the web is looked at', () => {
  expect(lines.map(({ file }) => file)).toEqual(
    expect.arrayContaining([
      './build.mjs',
      './messages.ts',
      './background/main.ts',
      '../web/ui/viewer/viewer.tsx',
    ]),
  );
});

test('no file is too long', () => {
  expect(lines.filter(({ lines }) => lines > FILE_LINES)).toEqual([]);
});

test('no folder has too much', () => {
  const much = [...new Set(lines.map(({ folder }) => folder))].flatMap((folder) => {
    const files = lines.filter((file) => file.folder === folder);
    const total = files.reduce((sum, { lines }) => sum + lines, 0);
    if (files.length <= FILES && total <= FOLDER_LINES) return [];
    return [`${folder}: ${files.length} files, ${total} lines`];
  });
  expect(much).toEqual([]);
});
