import { expect, test, vi } from 'vitest';
import {
  evaluatedMaps,
  isLocal,
  type ScriptLoad,
  ScriptResponses,
  sourceMap,
  sourceMappingURL,
} from './source-maps';
import webpack from './testdata/eval/webpack-5.112.2.json';

const ask = { tab: 7, url: 'http://localhost:3000/app.js', timeout_ms: 1000, max_bytes: 1000 };

/** Answers by address; what was asked for is listed. */
function server(
  pages: Record<string, string | Response>,
  page = 'http://localhost:3000/cart?x=1',
  loads?: ScriptLoad[],
) {
  const asked: [string, RequestInit][] = [];
  const get = vi.fn(async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const address = String(input);
    asked.push([address, init]);
    if (address.startsWith('data:')) return await fetch(address);
    const found = pages[address];
    if (found === undefined) return new Response('', { status: 404 });
    return typeof found === 'string' ? new Response(found) : found;
  });
  const parties = {
    page: async (tab: number) => (tab === 7 ? page : undefined),
    documents: async (_tab: number, url: string) => loads ?? [await loadOf(pages[url])],
    responses: () => [],
    debugged: () => [],
    fetch: get,
  };
  return { asked, parties };
}

/** A load of the code that is served. */
async function loadOf(code: string | Response = ''): Promise<ScriptLoad> {
  const body = typeof code === 'string' ? new Response(code) : code.clone();
  return { at: Date.now(), size: (await body.arrayBuffer()).byteLength };
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

test('the stamps of imported modules that were edited are no other version', async () => {
  const stamped =
    'import "/b.js?t=1795696137580"\nimport "/c.js?v=1&t=1795696137581"\n//# sourceMappingURL=app.js.map\n';
  const stamp = '?t=1795696137580'.length;
  for (const [size, used] of [
    [stamped.length, true],
    [stamped.length - stamp, true],
    [stamped.length - 2 * stamp, true],
    [stamped.length - 3 * stamp, false],
    [stamped.length - stamp + 1, false],
    [stamped.length + stamp, false],
  ] as const) {
    const { parties } = server(
      { 'http://localhost:3000/app.js': stamped, 'http://localhost:3000/app.js.map': '{}' },
      undefined,
      [{ at: Date.now() - 60_000, size }],
    );
    const got = await sourceMap(parties, ask).then(
      () => true,
      () => false,
    );
    expect(got, String(size)).toBe(used);
  }
});

test('the map of a script that the server has in another version is not used', async () => {
  const code = 'go()\n//# sourceMappingURL=app.js.map\n';
  const now = Date.now();
  const at = (ago: number) => new Date(now - ago).toUTCString();
  const load = (size: number, etag?: string, ago = 60_000) => ({ at: now - ago, size, etag });
  for (const [name, loads, headers, used] of [
    ['no load is known', [], {}, false],
    ['the same size', [load(code.length)], {}, true],
    ['an unknown size', [load(0)], {}, false],
    ['the same name', [load(0, '"1"')], { ETag: 'W/"1"' }, true],
    ['the same name, compressed', [load(0, 'W/"1-gzip"')], { ETag: '"1"' }, true],
    ['another name', [load(0, '"1"')], { ETag: '"2"' }, false],
    ['another name at the same size', [load(code.length, '"1"')], { ETag: '"2"' }, false],
    ['a name that only the load has', [load(0, '"1"')], {}, false],
    ['the same length', [{ at: now, size: 0, length: code.length }], {}, true],
    ['another length', [load(code.length), { at: now, size: 0, length: 7 }], {}, false],
    ['an unknown size in one frame', [load(code.length), load(0)], {}, true],
    ['another size', [load(code.length - 1)], {}, false],
    ['another size in one frame', [load(code.length), load(7)], {}, false],
    ['written before', [load(0)], { 'Last-Modified': at(90_000), Date: at(0) }, true],
    ['written since', [load(code.length)], { 'Last-Modified': at(30_000), Date: at(0) }, false],
    [
      'a server whose clock is late',
      [load(0)],
      { 'Last-Modified': at(3_630_000), Date: at(3_600_000) },
      false,
    ],
    ['a server that dates everything now', [load(0)], { 'Last-Modified': at(0), Date: at(0) }, false],
    ['one of which the size is known', [load(code.length)], { 'Last-Modified': at(0), Date: at(0) }, true],
    ['no date', [load(0)], { 'Last-Modified': 'yesterday' }, false],
  ] as [string, ScriptLoad[], Record<string, string>, boolean][]) {
    for (const named of [{}, { SourceMap: 'app.js.map' }]) {
      const pages = {
        'http://localhost:3000/app.js': new Response(code, { headers: { ...headers, ...named } }),
        'http://localhost:3000/app.js.map': '{}',
      };
      const { parties } = server(pages, undefined, loads);
      const got = await sourceMap(parties, ask).then(
        () => true,
        ({ code }) => code !== 'unavailable',
      );
      expect(got, name).toBe(used);
    }
  }
});

test('what a response with a script says is kept by tab, and that of a shared worker for all', () => {
  const scripts = new ScriptResponses((tab, page) => tab !== 8 && page === 'http://localhost:3000');
  const response = (tabId: number, url: string, headers: Record<string, string>, more = {}) =>
    scripts.responded({
      tabId,
      url,
      type: 'script',
      initiator: 'http://localhost:3000',
      timeStamp: 5,
      statusCode: 200,
      responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
      ...more,
    });
  response(7, '/a.js', { ETag: '"1"', 'Content-Length': '12' });
  response(7, '/a.js', { etag: '"2"', 'content-length': '13' });
  response(7, '/b.js', { 'Content-Length': '12', 'Content-Encoding': 'gzip' });
  response(7, '/c.js', { ETag: '"3"' }, { statusCode: 304 });
  response(7, '/e.js', { 'Content-Length': '12', ETag: '"8"' });
  response(7, '/e.js', {}, { statusCode: 304, timeStamp: 6 });
  response(-1, '/shared.js', { ETag: '"4"' });
  response(8, '/a.js', { ETag: '"5"' });
  response(7, '/a.css', { ETag: '"6"' }, { type: 'stylesheet' });
  response(7, '/d.js', { ETag: '"7"' }, { statusCode: 500 });
  expect(scripts.of(7, '/a.js')).toEqual([{ at: 5, size: 13, etag: '"2"' }]);
  expect(scripts.of(7, '/b.js')).toEqual([{ at: 5, size: 0 }]);
  expect(scripts.of(7, '/c.js')).toEqual([{ at: 5, size: 0, etag: '"3"' }]);
  expect(scripts.of(7, '/e.js')).toEqual([{ at: 6, size: 12, etag: '"8"' }]);
  expect(scripts.of(7, '/shared.js')).toEqual([{ at: 5, size: 0, etag: '"4"' }]);
  expect(scripts.of(8, '/a.js').concat(scripts.of(7, '/a.css'), scripts.of(7, '/d.js'))).toEqual([]);
  for (let i = 0; i < 5000; i++) response(7, `/${i}.js`, {});
  expect(scripts.of(7, '/a.js')).toEqual([]);
  expect(scripts.of(7, '/0.js')).toHaveLength(1);
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
    'localhost.:9',
    'router.',
    'nas.local.',
    'app.test.',
    '[::ffff:127.0.0.1]',
    '0x7f.1',
    '2130706433',
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
    documents: async () => [],
    responses: () => [],
    debugged: () => [],
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

test('the documents of a debugged tab are not asked: they may be paused', async () => {
  const code = 'go()\n//# sourceMappingURL=app.js.map\n';
  const { parties } = server({
    'http://localhost:3000/app.js': code,
    'http://localhost:3000/app.js.map': '{}',
  });
  const documents = vi.fn(async () => []);
  await sourceMap({ ...parties, documents, debugged: () => [code.length] }, ask);
  await expect(
    sourceMap({ ...parties, documents, debugged: () => [code.length - 1] }, ask),
  ).rejects.toMatchObject({ code: 'unavailable' });
  expect(documents).not.toHaveBeenCalled();
});

/** A script of webpack's `eval-source-map` with code by its names: every second one is a block, as webpack 5.113 writes it. */
function evaluating(code: Record<string, string>): string {
  return Object.entries(code)
    .map(([name, map], i) => {
      const url = `data:application/json;charset=utf-8;base64,${btoa(map)}`;
      const comments = `//# sourceURL=[module]\n//# sourceMappingURL=${url}\n//# sourceURL=webpack-internal:///${name}\n`;
      const text = i % 2 === 0 ? `throw 1;${comments}` : `{throw 1;${comments}\n}`;
      return `eval(__webpack_require__.ts(${JSON.stringify(text)}));\n`;
    })
    .join('');
}

test('the maps of the code that a script evaluates', async () => {
  const script = evaluating({
    '(app-pages-browser)/./src/title.js': '{"version":3,"mappings":"A","sourcesContent":["secret"]}',
    './src/cart.js': '{"version":3}',
    '(app-pages-browser)/./node_modules/next/index.js': '{"version":3}',
    './src/damaged.js': '{',
    './src/null.js': 'null',
  });
  const maps = {
    'webpack-internal:///(app-pages-browser)/./src/title.js': { version: 3, mappings: 'A' },
    'webpack-internal:///./src/cart.js': { version: 3 },
    'webpack-internal:///./src/null.js': {},
  };
  expect(JSON.parse(evaluatedMaps(script))).toEqual(maps);

  const { asked, parties } = server({ [ask.url]: script });
  const { url, data } = await sourceMap(parties, { ...ask, max_bytes: 10_000, evaluated: true });
  expect([url, JSON.parse(await unpacked(data))]).toEqual([ask.url, maps]);
  expect(asked).toHaveLength(1);
});

test("the places of webpack's maps that are of what loaders made of the files are left out", () => {
  const recorded = (devtool: keyof typeof webpack): Record<string, { mappings: string }> =>
    JSON.parse(evaluatedMaps(webpack[devtool]));
  const mapped = (devtool: keyof typeof webpack): string[] =>
    Object.entries(recorded(devtool))
      .filter(([, map]) => map.mappings !== '')
      .map(([name]) => name);
  const both = ['webpack-internal:///./src/main.jsx', 'webpack-internal:///./src/price.js'];
  expect(mapped('eval-source-map')).toEqual(both);
  expect(mapped('eval-cheap-module-source-map')).toEqual(both);
  expect(mapped('eval-cheap-source-map')).toEqual([]);
  expect(Object.keys(recorded('eval-cheap-source-map'))).toEqual(both); // an earlier map of that code does not count

  const lines = (content: string): string =>
    JSON.stringify({ mappings: 'AAAA;AACA', sourcesContent: [content] });
  const places = (code: Record<string, string>): string[] =>
    Object.values(JSON.parse(evaluatedMaps(evaluating(code))) as Record<string, { mappings: string }>).map(
      ({ mappings }) => mappings,
    );
  // React Refresh's loader adds to every file, also to one that a hot update has alone.
  expect(places({ './src/a.js': lines('__webpack_require__.$Refresh$.runtime = 1;') })).toEqual(['']);
  // A package of the project may have been compiled before. A style sheet is what its loader made of it.
  expect(
    places({
      '../ui/dist/a.js': lines('_jsx("p", {})'),
      './src/a.css': lines('__webpack_require__.h()'),
      './src/a.ts': lines('go()'),
    }),
  ).toEqual(['AAAA;AACA', 'AAAA;AACA', 'AAAA;AACA']);
});

test('a script that evaluates no code with a map, or other code than the page runs', async () => {
  const { parties } = server({ [ask.url]: 'go()\n//# sourceMappingURL=app.js.map\n' });
  await expect(sourceMap(parties, { ...ask, evaluated: true })).rejects.toMatchObject({ code: 'none' });

  const script = evaluating({ './src/cart.js': '{"version":3}' });
  const other = server({ [ask.url]: script }, undefined, [{ at: Date.now(), size: script.length - 1 }]);
  await expect(sourceMap(other.parties, { ...ask, evaluated: true })).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('the map of what a development server has now, whatever the page runs', async () => {
  const pages = {
    [ask.url]: 'go()\n//# sourceMappingURL=app.js.map\n',
    'http://localhost:3000/app.js.map': JSON.stringify({
      version: 3,
      sources: ['node_modules/p/index.js', './node_modules/p/index.js', './src/app.js'],
      sourcesContent: ['p', 'p', 'go()'],
      mappings: 'AAAA',
    }),
  };
  const older = [{ at: Date.now(), size: 1 }];
  const { parties } = server(pages, undefined, older);
  await expect(sourceMap(parties, ask)).rejects.toMatchObject({ code: 'unavailable' });
  const { data } = await sourceMap(parties, { ...ask, served: true });
  expect(JSON.parse(await unpacked(data))).toEqual({
    version: 3,
    sources: ['./src/app.js'],
    sourcesContent: ['go()'],
    mappings: '',
  });

  const url = 'https://example.com/app.js';
  for (const [page, script] of [
    ['https://example.com/', url],
    ['http://localhost:3000/', url],
  ]) {
    const wide = server({ [url]: 'go()' }, page);
    await expect(sourceMap(wide.parties, { ...ask, url: script, served: true })).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(wide.asked).toEqual([]);
  }
});
