import { expect, test } from 'vitest';
import type { ViewReport } from '../../../../extension/protocol';
import { escaped, har, page, type Session } from '../exports';
import { actionWords, gapWords } from '../words';
import { reportMarkdown, timelineText } from './markdown';
import { quoted } from './quoted';

const report = {
  from: 'before_fix',
  to: 'now',
  errors: 1,
  refs: {},
  report: {
    checkpoint_from: '2026-01-01T10:00:00.000Z',
    checkpoint_to: '2026-01-01T10:00:05.000Z',
    duration_ms: 5000,
    severity: 'error',
    summary: '1 network failure(s)',
    network: { failures: [{ method: 'POST', url: '/api/pay', status: 500, previous_status: 200, count: 2 }] },
    console: { new_warnings: [{ message: 'use `signIn`\n# not a heading', source: 'app.js:3', count: 1 }] },
    coverage: { note: 'x', gaps: [{ from: '2026-01-01T10:00:01.000Z', reason: 'paused', tabs: [1, 3] }] },
  },
} as unknown as ViewReport;

test('a report reads as Markdown, and a page’s text cannot be more than text in it', () => {
  const text = reportMarkdown(report, (moment) => moment);
  expect(text).toContain('## before_fix → now: 1 error');
  expect(text).toContain('- `POST /api/pay` 200 → 500 ×2');
  expect(text).toContain('- ``use `signIn` # not a heading`` app.js:3');
  expect(text).toMatch(/–now .*watching was paused, tabs 1, 3$/m);
  expect(text).not.toMatch(/^# not/m);
  expect(quoted('```')).toBe('```` ``` ````');
});

test('an endpoint that recovered has why it failed before', () => {
  const recovered = [
    { method: 'GET', url: '/api/cart', status: 200, previous_status: 503 },
    { method: 'POST', url: '/graphql', status: 200, previous_status: 200, previous_error: 'GraphQL error' },
  ];
  const text = reportMarkdown(
    { ...report, report: { ...report.report, network: { recovered } } } as ViewReport,
    (moment) => moment,
  );
  expect(text).toContain('- `GET /api/cart` 503 → 200\n');
  expect(text).toContain('- `POST /graphql` GraphQL error → 200\n');
});

test('an overlay has its place, also one of what the server made of a file', () => {
  const overlay = {
    selector: 'vite-error-overlay',
    text: 'Unexpected token',
    file: '/shop/src/App.tsx',
    line: 5,
  };
  const text = reportMarkdown(
    {
      ...report,
      report: {
        ...report.report,
        dom: { new_error_elements: [overlay, { ...overlay, text: 'Not found', generated: true }] },
      },
    } as ViewReport,
    (moment) => moment,
  );
  expect(text).toContain('- `Unexpected token` `vite-error-overlay` `App.tsx:5`\n');
  expect(text).toContain('- `Not found` `vite-error-overlay` `App.tsx:5 (generated)`');
});

test('requests say where they come from and why they failed, and storms are listed', () => {
  const text = reportMarkdown(
    {
      ...report,
      report: {
        ...report.report,
        network: {
          failures: [
            {
              method: 'POST',
              url: '/graphql',
              operation: 'AddToCart',
              status: 200,
              error: 'GraphQL error',
              detail: 'qty must be `positive`',
              initiator: 'cart.ts:31',
              called_at: 'Form.tsx:5',
              started_at: '2026-01-01T10:00:01.000Z',
            },
          ],
        },
        dom: { emptied_fields: [{ element: 'textbox "Email" [e3]' }] },
        storms: [
          {
            what: 'GET /notifications',
            count: 503,
            span_ms: 95_000,
            initiator: 'Notes.js:5',
            generated: true,
          },
        ],
      },
    } as ViewReport,
    (moment) => moment,
  );
  expect(text).toContain(
    '- `POST /graphql AddToCart` GraphQL error `` qty must be `positive` `` from `cart.ts:31`, called at `Form.tsx:5`',
  );
  expect(text).toContain('- `textbox "Email" [e3]`');
  expect(text).toContain('- `GET /notifications` in 1 min 35 s from `Notes.js:5` (generated) ×503');
});

test('a section that the lists do not know is told in lines of text', () => {
  const beats = {
    changed: [{ path: 'src/cart.ts', change: 'modified', added: 3, tab: 1, count: 2 }, 'b.ts'],
    total: 9,
  };
  const text = reportMarkdown(
    { ...report, report: { ...report.report, beats: { ...beats, omitted: 4 } } } as ViewReport,
    (moment) => moment,
  );
  expect(text).toContain('### beats: changed\n\n- `src/cart.ts modified 3` ×2\n- `b.ts`\n');
  expect(text).toContain('- `POST /api/pay` 200 → 500 ×2');
  expect(text).toMatch(/^4 /m);
});

test('changed files are listed with what is known of them, and directories with their files', () => {
  const files = {
    changed: [
      { path: 'dist/', change: 'modified', files: 98, added: 1200, removed: 7, by: 'npm run `build`' },
      { path: 'logo.png', change: 'added', binary: true },
      { path: 'src/cart.ts', change: 'renamed', from: 'src/basket.ts', added: 0, removed: 0 },
      { path: 'a.ts', change: 'modified', added: 2, removed: 1, count: 2, workspace: '/srv/shop' },
      { path: 'b.ts', change: 'removed' },
    ],
    total_changed: 102,
  };
  const text = reportMarkdown(
    { ...report, report: { ...report.report, files } } as ViewReport,
    (moment) => moment,
  );
  expect(text).toContain(
    [
      '### Changed files\n',
      '- `dist/` modified 98 files +1,200 −7 by `` npm run `build` ``',
      '- `logo.png` added binary',
      '- `src/basket.ts` → `src/cart.ts` renamed +0 −0',
      '- `a.ts` modified +2 −1 `/srv/shop` ×2',
      '- `b.ts` removed',
    ].join('\n'),
  );
});

test('the checkpoints read as the specification has them', () => {
  const checkpoint = (name: string, warnings = 0, note?: string) => ({
    name,
    moment: name,
    at: 0,
    since: { severity: warnings > 0 ? 'warning' : 'clean', summary: '', warnings },
    ...(note !== undefined && { note }),
  });
  expect(
    timelineText(
      [
        checkpoint('session_start'),
        checkpoint('before_auth_refactor'),
        checkpoint('after_auth_refactor', 1, 'new deprecation notice, acceptable'),
        checkpoint('before_commit'),
      ],
      { severity: 'error', summary: '', errors: 2, not_observed: true },
    ),
  ).toBe(
    [
      'session_start        → clean',
      'before_auth_refactor → clean',
      'after_auth_refactor  → 1 warning (new deprecation notice, acceptable)',
      'before_commit        → clean',
      'now                  → 2 errors, not fully observed',
      '',
    ].join('\n'),
  );
});

test('an exported page runs nothing, whatever pages and agents said', () => {
  const session = {
    tidemark: '1',
    exported: 'now',
    overview: { tabs: [{ title: '<script>alert(1)</script>' }] },
    checkpoints: [],
    now: { severity: 'clean', summary: '' },
    spans: [],
    calls: [
      {
        at: 0,
        tool: 'x',
        agent_name: '<b>',
        gist: '"',
        arguments: '</pre><script>1</script>',
        answer: '</script>',
      },
    ],
  } as unknown as Session;
  const html = page(session, '', '');
  expect(html.match(/<script/g)).toHaveLength(1); // the data, which is no program
  expect(html).toContain('<script type="application/json"');
  expect(html).toContain("default-src 'none'");
  expect(escaped(`<a b="c">&'`)).toBe('&#60;a b=&#34;c&#34;&#62;&#38;&#39;');
});

test('requests are exported as an HTTP archive', () => {
  const log = har(
    [
      {
        lane: 'network',
        position: 1,
        at: 2000,
        tab: 1,
        mark: '2',
        kind: 'fetch',
        method: 'POST',
        url: 'http://localhost/api?page=2',
        status: 500,
        started: 1000,
        duration_ms: 12,
        masked: 1,
        request_headers: { 'content-type': 'application/json' },
        request_body: '{"password":"[masked]"}',
        response_body: 'no',
      },
    ],
    '1',
    'From a to now',
  ) as { log: { version: string; comment: string; entries: Record<string, never>[] } };
  expect(log.log.version).toBe('1.2');
  expect(log.log.comment).toBe('From a to now');
  expect(log.log.entries[0]).toMatchObject({
    startedDateTime: '1970-01-01T00:00:01.000Z',
    time: 12,
    request: {
      method: 'POST',
      queryString: [{ name: 'page', value: '2' }],
      postData: { mimeType: 'application/json', text: '{"password":"[masked]"}' },
    },
    response: { status: 500, content: { text: 'no' } },
    comment: expect.stringContaining('masked'),
  });
});

test('actions and gaps are told in words, those of a newer host as they are', () => {
  expect(actionWords({ type: 'click', target: 'Pay now' })).toBe('Clicked Pay now');
  expect(actionWords({ type: 'type', target: 'Name', value: 'Ada' })).toBe('Typed “Ada” into Name');
  expect(actionWords({ type: 'swipe', target: 'card' })).toBe('swipe card');
  expect(gapWords('disconnected')).toBe('the connection to Tidemark was lost');
  expect(gapWords('of_the_future')).toBe('of the future');
});
