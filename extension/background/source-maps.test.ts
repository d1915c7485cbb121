import { expect, test, vi } from 'vitest';
import { isLocal, sourceMap, sourceMappingURL } from './source-maps';

const ask = { tab: 7, url: 'http://localhost:3000/app.js', timeout_ms: 1000, max_bytes: 1000 };

/** Answers by address; what was asked for is listed. */
function server(pages: Record<string, string | Response>, page = 'http://localhost:3000/cart?x=1') {
  const asked: [string, RequestInit][] = [];
  const get = vi.fn(async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const address = String(input);
    asked.push([address, init]);
    if (address.startsWith('data:')) return await fetch(address);
    const found = pages[address];
    if (found === undefined) return new Response('', { status: 404 });
    return typeof found === 'string' ? new Response(found) : found;
  });
  return { asked, parties: { page: async (tab: number) => (tab === 7 ? page : undefined), fetch: get } };
}

async function unpacked(data: string): Promise<string> {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

test('the map that a script names is fetched with the rights of the page', async () => {
  const { asked, parties } = server({
    'http://localhost:3000/app.js': 'go()\n//# sourceMappingURL=maps/app.js.map\n',
    'http://localhost:3000/maps/app.js.map': '{"version":3}',
  });
  const { url, data } = await sourceMap(parties, ask);
  expect(url).toBe('http://localhost:3000/maps/app.js.map');
  await expect(unpacked(data)).resolves.toBe('{"version":3}');
  expect(asked.map(([, init]) => [init.credentials, init.redirect, init.referrerPolicy])).toEqual([
    ['include', 'error', 'no-referrer'],
    ['include', 'error', 'no-referrer'],
  ]);
});

test('another origin gets no cookies', async () => {
  const { asked, parties } = server({
    'http://localhost:3000/app.js': '//# sourceMappingURL=https://maps.example/app.js.map',
    'https://maps.example/app.js.map': '{}',
  });
  await sourceMap(parties, ask);
  expect(asked[1]?.[1].credentials).toBe('omit');
});

test("a header's word goes before a comment's", async () => {
  for (const header of ['SourceMap', 'X-SourceMap']) {
    const { parties } = server({
      'http://localhost:3000/app.js': new Response('//# sourceMappingURL=no.map', {
        headers: { [header]: '/yes.map' },
      }),
      'http://localhost:3000/yes.map': '{}',
    });
    expect((await sourceMap(parties, ask)).url).toBe('http://localhost:3000/yes.map');
  }
});

test('a map inside its script has the address of the script', async () => {
  const map = '{"version":3,"sources":["ä.ts"]}';
  const inline = `data:application/json;charset=utf-8;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(map)))}`;
  const { parties } = server({ 'http://localhost:3000/app.js': `x\n//# sourceMappingURL=${inline}` });
  const { url, data } = await sourceMap(parties, ask);
  expect(url).toBe(ask.url);
  await expect(unpacked(data)).resolves.toBe(map);
});

test.each([
  ['of a tab that is not watched', { ...ask, tab: 8 }, 'unavailable'],
  ["of the page's own document", { ...ask, url: 'http://localhost:3000/cart?x=1#a' }, 'none'],
  ['of another scheme', { ...ask, url: 'file:///etc/passwd' }, 'invalid'],
  ['of a script that is gone', { ...ask, url: 'http://localhost:3000/gone.js' }, 'unavailable'],
  ['of a script without one', { ...ask, url: 'http://localhost:3000/plain.js' }, 'none'],
  ['of a script that is too large', { ...ask, url: 'http://localhost:3000/large.js' }, 'too_large'],
  ['that is too large', { ...ask, url: 'http://localhost:3000/small.js' }, 'too_large'],
  ['that is a file', { ...ask, url: 'http://localhost:3000/file.js' }, 'invalid'],
  ['nobody knows how', { tab: 7 }, 'invalid'],
])('no map %s', async (_, params, code) => {
  const { parties } = server({
    'http://localhost:3000/plain.js': 'go()',
    'http://localhost:3000/large.js': 'x'.repeat(1001),
    'http://localhost:3000/small.js': '//# sourceMappingURL=large.map',
    'http://localhost:3000/large.map': ' '.repeat(1001),
    'http://localhost:3000/file.js': '//# sourceMappingURL=file:///etc/passwd',
  });
  await expect(sourceMap(parties, params)).rejects.toMatchObject({ code });
});

test('a page of the wide web reaches nothing on this machine or its network', async () => {
  for (const host of [
    'localhost:9',
    '127.0.0.1',
    '192.168.1.1',
    '[::1]',
    '[fd00::1]',
    'router',
    'nas.local',
  ]) {
    const { asked, parties } = server(
      { 'https://shop.example/app.js': `//# sourceMappingURL=http://${host}/secret` },
      'https://shop.example/',
    );
    const params = { ...ask, url: 'https://shop.example/app.js' };
    await expect(sourceMap(parties, params)).rejects.toMatchObject({ code: 'invalid' });
    expect(asked).toHaveLength(1);
  }
  expect(['https://shop.example', 'http://11.0.0.1', 'http://172.32.0.1'].map(isLocal)).toEqual([
    false,
    false,
    false,
  ]);
});

test('a server that does not answer is given up', async () => {
  const parties = {
    page: async () => 'http://localhost:3000/',
    fetch: (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
      }),
  };
  await expect(sourceMap(parties, { ...ask, timeout_ms: 10 })).rejects.toMatchObject({ code: 'unavailable' });
});

test.each([
  ['a()\n//# sourceMappingURL=a.map', 'a.map'],
  ['a()\n//@ sourceMappingURL=a.map\n\n// end\n', 'a.map'],
  ['a()\n/*# sourceMappingURL=a.map */', 'a.map'],
  ['a()//# sourceMappingURL=old.map\nb()\n//# sourceMappingURL=a.map', 'a.map'],
  ['a()\n//# sourceMappingURL=a.map\nb()', undefined],
  ["eval('a()\\n//# sourceMappingURL=data:x\\n//# sourceURL=b')", undefined],
  ["const text = '# sourceMappingURL=a.map'", undefined],
  ['a()\n//# sourceMappingURL=\n', undefined],
  ['', undefined],
  [`//# sourceMappingURL=a.map\n${'/'.repeat(10_000)}\ncode`, undefined],
])('%j names %j', (script, url) => {
  expect(sourceMappingURL(script)).toBe(url);
});
