/** What leaves the viewer as a file: the session as JSON or as one page of HTML, requests as HAR. */
import type {
  ViewCall,
  ViewCheckpoints,
  ViewEntry,
  ViewOverview,
  ViewReport,
} from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { clock } from './format';
import type { ViewerModel } from './model';
import { timelineText } from './report/markdown';

/** Everything of a session that a file holds. */
export interface Session {
  tidemark: string;
  exported: string;
  overview: ViewOverview;
  checkpoints: ViewCheckpoints['checkpoints'];
  /** What is new since the last of them. */
  now: ViewCheckpoints['now'];
  /** What is shown, then each span between two checkpoints. */
  shown: ViewReport;
  spans: ViewReport[];
  calls: ViewCall[];
}

/** How many positions are asked for at once. */
const AT_ONCE = 200;

/** Gathers the session. */
export async function gather(model: ViewerModel): Promise<Session> {
  const { client } = model;
  const tab = model.tab.value === 0 ? {} : { tab: model.tab.value };
  const { from, to } = model.selection.value;
  const overview = await client.ask('view_overview', tab);
  const { checkpoints, now } = await client.ask('view_checkpoints', tab);
  const shown = await client.ask('view_report', { from, to, ...tab });
  const spans: ViewReport[] = [];
  const moments = ['start', ...checkpoints.map(({ moment }) => moment), 'now'];
  for (let i = 1; i < moments.length; i++) {
    spans.push(
      await client.ask('view_report', { from: moments[i - 1] ?? 'start', to: moments[i] ?? 'now', ...tab }),
    );
  }
  const listed = await client.ask('view_calls', {});
  const calls = await all(
    listed.calls.map(({ position }) => position),
    async (positions) => (await client.ask('view_calls', { positions })).calls,
  );
  return {
    tidemark: overview.host,
    exported: new Date().toISOString(),
    overview,
    checkpoints,
    now,
    shown,
    spans,
    calls,
  };
}

/** Asks for everything at positions: an answer may hold fewer than were asked for. */
async function all<T extends { position: number }>(
  positions: number[],
  ask: (positions: number[]) => Promise<T[]>,
): Promise<T[]> {
  const out: T[] = [];
  for (let rest = positions; rest.length > 0; ) {
    const wanted = rest.slice(0, AT_ONCE);
    const got = await ask(wanted);
    out.push(...got);
    const last = got.at(-1)?.position;
    const reached = last === undefined ? wanted.length : wanted.indexOf(last) + 1;
    // What was asked for after the last that came has no room or is gone: all that is left is asked for again.
    rest = rest.slice(
      Math.max(1, got.length < wanted.length && last !== undefined ? reached : wanted.length),
    );
  }
  return out;
}

/** The requests of what is shown, whole. */
export async function requests(model: ViewerModel): Promise<ViewEntry[]> {
  const tab = model.tab.value === 0 ? {} : { tab: model.tab.value };
  const { from, to } = model.selection.value;
  const list = await model.client.ask('view_entries', {
    from,
    to,
    lanes: ['network'],
    limit: 5000,
    brief: true,
    ...tab,
  });
  return await all(
    list.entries.map(({ position }) => position),
    async (positions) => (await model.client.ask('view_entries', { lane: 'network', positions })).entries,
  );
}

/** A header's value, however its name is written. */
function header(all: Record<string, string> | undefined, wanted: string): string {
  return Object.entries(all ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
}

/** Requests in the HTTP Archive format, version 1.2; the comment says which they are. */
export function har(entries: readonly ViewEntry[], version: string, comment: string): object {
  const headers = (all: Record<string, string> | undefined): { name: string; value: string }[] =>
    Object.entries(all ?? {}).map(([name, value]) => ({ name, value }));
  const query = (url: string): { name: string; value: string }[] => {
    try {
      return [...new URL(url).searchParams].map(([name, value]) => ({ name, value }));
    } catch {
      return [];
    }
  };
  return {
    log: {
      version: '1.2',
      creator: { name: 'Tidemark', version },
      pages: [],
      comment,
      entries: entries.map((e) => ({
        startedDateTime: new Date(e.started || e.at).toISOString(),
        time: e.duration_ms ?? 0,
        request: {
          method: e.method ?? 'GET',
          url: e.url ?? '',
          httpVersion: '',
          cookies: [],
          headers: headers(e.request_headers),
          queryString: query(e.url ?? ''),
          headersSize: -1,
          bodySize: e.request_body === undefined ? -1 : e.request_body.length,
          ...(e.request_body !== undefined &&
            e.request_body !== '' && {
              postData: { mimeType: header(e.request_headers, 'content-type'), text: e.request_body },
            }),
        },
        response: {
          status: e.status ?? 0,
          statusText: '',
          httpVersion: '',
          cookies: [],
          headers: headers(e.response_headers),
          content: {
            size: e.size ?? 0,
            mimeType: e.mime ?? '',
            ...(e.response_body !== undefined && e.response_body !== '' && { text: e.response_body }),
            ...(e.body_note !== undefined && { comment: e.body_note }),
          },
          redirectURL: header(e.response_headers, 'location'),
          headersSize: -1,
          bodySize: -1,
          ...(e.error !== undefined && e.error !== '' && { _error: e.error }),
        },
        cache: {},
        timings: { send: 0, wait: e.duration_ms ?? 0, receive: 0 },
        ...((e.masked ?? 0) > 0 && { comment: many('maskedInFile', e.masked ?? 0) }),
      })),
    },
  };
}

/** A day and its time: a file is read on other days as well. */
function dated(at: number): string {
  return `${new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })}, ${clock(at).slice(0, 8)}`;
}

/** What HTML must not read anything into. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** One page that stands alone: the reports as they were drawn, the agents' calls, and the same as data. */
export function page(session: Session, reports: string, css: string): string {
  const calls = session.calls
    .map(
      (c) =>
        `<details class="call"><summary><time datetime="${new Date(c.at).toISOString()}">${escaped(dated(c.at))}</time> <code>${escaped(c.tool)}</code> ${escaped(c.agent_name)} <span class="quiet">${escaped(c.gist ?? '')}</span></summary><pre class="body">${escaped(c.arguments ?? '')}</pre><pre class="body">${escaped(c.answer ?? '')}</pre></details>`,
    )
    .join('\n');
  // Only "<" could end the element: what is in it is no HTML.
  const data = JSON.stringify(session).replaceAll('<', '\\u003c');
  const title = `Tidemark · ${dated(Date.parse(session.exported))}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${css}
html, body.exported { height: auto; overflow: auto; container-type: normal; }
body.exported { display: block; max-width: 1000px; margin: 0 auto; padding: 16px; }
.exported h2 { margin: 24px 0 8px; }
.exported section:has(> .report) { margin-top: 20px; }
.exported pre.body { max-height: none; }
</style>
</head>
<body class="viewer exported">
<h1>Tidemark</h1>
<p class="quiet">${escaped(t('exportedAt', dated(Date.parse(session.exported)), session.tidemark))}</p>
<h2>${escaped(t('checkpoints'))}</h2>
<pre class="body">${escaped(timelineText(session.checkpoints, session.now))}</pre>
${reports}
<h2>${escaped(t('whatAgentSaw'))}</h2>
${calls || `<p class="quiet">${escaped(t('noCalls'))}</p>`}
<script type="application/json" id="session">${data}</script>
</body>
</html>
`;
}

/** Has the browser save a file. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The styles of this page, for one that stands alone. */
export function styles(): string {
  return [...document.styleSheets]
    .flatMap((sheet) => {
      try {
        return [...sheet.cssRules];
      } catch {
        return []; // of another origin
      }
    })
    .map(({ cssText }) => cssText)
    .join('\n');
}
