import { afterEach, expect, test, vi } from 'vitest';
import { injectHooks } from './inject';

afterEach(() => vi.unstubAllGlobals());

/** Scripts that were brought to documents. A document that answers true lacks them, and one that rejects was left. */
async function brought(answers: Record<string, () => Promise<unknown>>): Promise<string[]> {
  const files: string[] = [];
  vi.stubGlobal('chrome', {
    scripting: {
      executeScript: async ({
        target,
        files: named,
        world,
      }: chrome.scripting.ScriptInjection<never[], unknown>) => {
        const [document = ''] = target.documentIds ?? [];
        if (named === undefined) return [{ result: await answers[document]?.() }];
        files.push(`${document} ${named.join()} ${world}`);
        return [];
      },
    },
  });
  await injectHooks('quiet', 1, Object.keys(answers));
  return files;
}

test('hooks are brought to the documents that lack them, and to no others', async () => {
  const files = await brought({
    lacks: async () => true,
    has: async () => false,
    'without a content script': async () => undefined,
    left: () => Promise.reject(new Error('No document with id left')),
  });
  expect(files).toEqual(['lacks page.js MAIN']);
});
