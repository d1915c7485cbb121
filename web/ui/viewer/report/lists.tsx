/** A report's lists, in the order in which a person reads them: how an entry of each looks, and reads as Markdown. */
import type { ComponentChildren, JSX } from 'preact';
import type { ViewRef, ViewReport } from '../../../../extension/protocol';
import type {
  Action,
  Changed,
  ChangedFile,
  Connection,
  Crash,
  Degraded,
  Disconnection,
  EmptiedField,
  Endpoint,
  Failure,
  GoneElement,
  Introduced,
  Message,
  NewElement,
  Report,
  SocketError,
  Storm,
  URLChange,
} from '../../../../extension/report';
import { type CountedKey, many, t } from '../../../../extension/text';
import type { Severity } from '../../severity';
import { Arrow, Line, Sparkline } from '../entry';
import { baseName, duration, hour } from '../format';
import type { ViewerModel } from '../model';
import { IntroducedBy, introducedText } from '../moments/introduced';
import { Status } from '../request';
import { laneName } from '../timeline/lanes';
import { actionWords, fileChangeWords } from '../words';
import { quoted } from './quoted';

type Texts = (string | number | undefined)[];

interface EmptyPage {
  since: string;
  tab?: number;
}

/** One kind of entry, and how it is shown. */
interface Kind<T> {
  /** Its heading: a text that speaks of a number, or one that does not. */
  title: CountedKey | { text: string };
  lane: string;
  severity?: Severity | ((entry: ViewRef | undefined) => Severity);
  /** The list's name among the report's references. */
  name: string;
  /** What a search looks through. */
  texts(one: T): Texts;
  line(one: T): ComponentChildren;
  /** What stands at the end of the line. */
  aside?(one: T, entry: ViewRef | undefined, model: ViewerModel): ComponentChildren;
  markdown(one: T): string;
  /** False where there is nothing to open into. */
  opens?: boolean;
}

/** A list of a report as every kind is used. */
export interface List {
  /** Its name among the report's references. */
  name: string;
  lane: string;
  heading(count: number): string;
  /** The lines of those entries that are looked for. */
  lines(model: ViewerModel, report: ViewReport, has: (texts: Texts) => boolean): JSX.Element[];
  /** All entries as items of Markdown. */
  markdown(report: Report): string[];
}

function list<T extends { count?: number; tab?: number; introduced_by?: Introduced }>(
  entries: (report: Report) => readonly T[] | undefined,
  kind: Kind<T>,
): List {
  const { title, lane, severity, name, texts, line, aside, markdown, opens = true } = kind;
  return {
    name,
    lane,
    heading: (count) => (typeof title === 'string' ? many(title, count) : title.text),
    lines: (model, { report, refs }, has) =>
      (entries(report) ?? []).flatMap((one, i) => {
        const entry = refs[name]?.[i];
        if (!has([...texts(one), introducedText(one.introduced_by)])) return [];
        return (
          <Line
            key={i}
            model={model}
            {...(severity !== undefined && {
              severity: typeof severity === 'function' ? severity(entry) : severity,
            })}
            entry={entry}
            count={one.count}
            tab={one.tab}
            aside={
              <>
                {aside?.(one, entry, model)}
                <IntroducedBy model={model} by={one.introduced_by} />
              </>
            }
            opens={opens}
          >
            {line(one)}
          </Line>
        );
      }),
    markdown: (report) =>
      (entries(report) ?? []).map((one) =>
        [`${markdown(one)}${times(one.count)}`, quoted(introducedText(one.introduced_by))].join(' ').trim(),
      ),
  };
}

const times = (count = 1): string => (count > 1 ? ` ×${count}` : '');

/** What a list has of a request or a connection. */
interface Addressed {
  method?: string;
  url: string;
  operation?: string;
  detail?: string;
}

/** An address, with the method that it was asked by, the GraphQL operation, and why it failed. */
function address({ method, url, operation, detail }: Addressed): JSX.Element {
  return (
    <>
      {method !== undefined && <code>{method}</code>} <span class="url">{url}</span>
      {operation !== undefined && (
        <>
          {' '}
          <code>{operation}</code>
        </>
      )}
      {detail !== undefined && <> {detail}</>}
    </>
  );
}

const addressText = ({ method, url, operation }: Addressed): string =>
  quoted([method, url, operation].filter(Boolean).join(' '));

/** The code that made a request or opened a connection, and what called that. */
interface Sent {
  initiator?: string;
  generated?: boolean;
  called_at?: string;
}

/** Where a request or a connection came from, as Markdown. */
const fromText = ({ initiator, generated, called_at }: Sent): string =>
  initiator === undefined
    ? ''
    : ` from ${quoted(initiator)}${generated === true ? ` ${t('generated')}` : ''}${called_at === undefined ? '' : `, ${t('calledAt', quoted(called_at))}`}`;

/** What called the code that made a request. */
const calledAt = ({ called_at }: Sent): string => (called_at === undefined ? '' : t('calledAt', called_at));

function element({ text, selector }: { text: string; selector: string }): JSX.Element {
  return (
    <>
      {text || t('noText')} <code class="selector">{selector}</code>
    </>
  );
}

/** The file and line that a development server's overlay names, "" where it names none. */
const placeOf = ({ file, line, generated }: NewElement): string =>
  file === undefined
    ? ''
    : `${file.replace(/^.*[\\/]/, '')}${line === undefined ? '' : `:${line}`}${generated === true ? ` ${t('generated')}` : ''}`;

const elementText = ({ text, selector }: { text: string; selector: string }): string =>
  `${quoted(text) || t('noText')} ${quoted(selector)}`;

const loggedAt = ({ logged_at }: { logged_at?: string }): string =>
  logged_at === undefined ? '' : t('loggedAt', logged_at);

const also = (entry: { also?: string }): string =>
  entry.also === undefined ? '' : t('alsoSaid', entry.also);

const alsoText = (entry: { also?: string }): string =>
  entry.also === undefined ? '' : `, also ${quoted(entry.also)}`;

const message = {
  lane: 'console',
  texts: (m: Message): Texts => [m.message, m.source, m.logged_at, m.also],
  line: (m: Message): string => m.message || t('noText'),
  aside: (m: Message): ComponentChildren => (
    <span class="quiet">{[loggedAt(m), also(m)].filter(Boolean).join(', ')}</span>
  ),
  markdown: (m: Message): string =>
    `${quoted(m.message) || t('noText')} ${[m.source, loggedAt(m)].filter(Boolean).join(', ')}${alsoText(m)}`.trim(),
} as const;

/** How a request went: of one that failed without a failing status, the error. */
const status = (code: number | undefined, error?: string): string =>
  code !== undefined && code >= 400 ? String(code) : String(error || code || t('noAnswer'));

/** What is known of a changed file beside its name. */
const fileFacts = ({ change, files, binary, added, removed }: ChangedFile): string[] => [
  fileChangeWords(change),
  ...(files === undefined ? [] : [many('filesInside', files)]),
  ...(binary === true ? [t('fileBinary')] : []),
  ...(added == null || removed == null ? [] : [`+${added.toLocaleString()} −${removed.toLocaleString()}`]),
];

/** What each list of failed requests has. */
const failure = {
  lane: 'network',
  texts: (f: Failure): Texts => [
    f.method,
    f.url,
    f.operation,
    f.status,
    f.error,
    f.detail,
    f.initiator,
    f.called_at,
    f.also,
  ],
  line: address,
  aside: (f: Failure, entry: ViewRef | undefined): ComponentChildren => (
    <>
      <Change before={f.previous_status} status={f.status} error={f.error} now={f.now_status} entry={entry} />
      <span class="quiet">{[calledAt(f), also(f)].filter(Boolean).join(', ')}</span>
    </>
  ),
  markdown: (f: Failure): string =>
    `${addressText(f)} ${f.previous_status ? `${f.previous_status} → ` : ''}${status(f.status, f.error)}${f.now_status ? ` → ${f.now_status}` : ''}${f.detail ? ` ${quoted(f.detail)}` : ''}${fromText(f)}${alsoText(f)}`,
} as const;

/** The lists, the worst first. */
const LISTS: readonly List[] = [
  list<Message>(({ console }) => console?.new_errors, {
    ...message,
    title: 'groupErrors',
    severity: 'error',
    name: 'console.new_errors',
  }),
  list<Failure>(({ network }) => network?.failures, {
    ...failure,
    title: 'groupFailures',
    severity: 'error',
    name: 'network.failures',
  }),
  list<Crash>(({ dom }) => dom?.crashed, {
    title: 'groupCrashed',
    lane: 'dom',
    severity: 'error',
    name: 'dom.crashed',
    texts: (c) => [c.url],
    line: ({ url }) => url,
    aside: ({ at }) => <time>{hour(Date.parse(at))}</time>,
    markdown: ({ url }) => quoted(url),
  }),
  list<Storm>(({ storms }) => storms, {
    title: 'groupStorms',
    lane: 'storms',
    severity: 'warning',
    name: 'storms',
    texts: (s) => [s.what, s.error, s.status, s.initiator, s.called_at, s.also],
    line: ({ what, error }) => (error === undefined ? what : `${what}: ${error}`),
    aside: (s) => (
      <span class="quiet">
        {[s.status, t('stormSpan', duration(s.span_ms)), calledAt(s), also(s)].filter(Boolean).join(', ')}
      </span>
    ),
    markdown: (s) =>
      [
        quoted(s.what),
        s.error === undefined ? '' : quoted(s.error),
        s.status,
        t('stormSpan', duration(s.span_ms)),
      ]
        .filter(Boolean)
        .join(' ') +
      fromText(s) +
      alsoText(s),
  }),
  list<Message>(({ console }) => console?.new_warnings, {
    ...message,
    title: 'groupWarnings',
    severity: 'warning',
    name: 'console.new_warnings',
  }),
  list<Failure>(({ network }) => network?.known_failures, {
    ...failure,
    title: 'groupKnownFailures',
    severity: 'warning',
    name: 'network.known_failures',
  }),
  list<Degraded>(({ network }) => network?.degraded, {
    title: 'groupDegraded',
    lane: 'network',
    severity: 'warning',
    name: 'network.degraded',
    texts: (d) => [d.method, d.url, d.operation, d.initiator],
    line: address,
    aside: (d, entry) => (
      <span class="change">
        <Sparkline entry={entry} />
        {duration(d.previous_avg_ms)} <Arrow /> <b>{duration(d.avg_ms)}</b>
      </span>
    ),
    markdown: (d) => `${addressText(d)} ${duration(d.previous_avg_ms)} → ${duration(d.avg_ms)}${fromText(d)}`,
  }),
  list<Disconnection>(({ websocket }) => websocket?.disconnections, {
    title: 'groupClosed',
    lane: 'websocket',
    severity: 'warning',
    name: 'websocket.disconnections',
    texts: (d) => [d.url, d.reason, d.code, d.initiator],
    line: address,
    aside: (d) => <span class="quiet">{[d.code, d.reason].filter(Boolean).join(' ')}</span>,
    markdown: (d) =>
      [quoted(d.url), d.code, d.reason && quoted(d.reason)].filter(Boolean).join(' ') + fromText(d),
  }),
  list<SocketError>(({ websocket }) => websocket?.error_messages, {
    title: 'groupSocketErrors',
    lane: 'websocket',
    severity: 'warning',
    name: 'websocket.error_messages',
    texts: (e) => [e.url, e.message, e.status, e.initiator, e.also],
    line: (e) => (
      <>
        {address(e)} {e.message}
      </>
    ),
    aside: (e) => <span class="quiet">{[e.status, also(e)].filter(Boolean).join(', ')}</span>,
    markdown: (e) =>
      [quoted(e.url), quoted(e.message), e.status].filter(Boolean).join(' ') + fromText(e) + alsoText(e),
  }),
  list<NewElement>(({ dom }) => dom?.new_error_elements, {
    title: 'groupElements',
    lane: 'dom',
    severity: (entry) => (entry?.overlay === true ? 'error' : 'warning'),
    name: 'dom.new_error_elements',
    texts: (e) => [e.selector, e.text, e.file],
    line: element,
    aside: (e, entry, model) => (
      <>
        {e.gone_at != null && <span class="quiet">{t('goneAt', hour(Date.parse(e.gone_at)))}</span>}
        {e.file !== undefined && (
          <span class="source" title={`${e.file}${e.line === undefined ? '' : `:${e.line}`}`}>
            {placeOf(e)}
          </span>
        )}
        {e.gone_at == null && e.file === undefined && <Reveal model={model} entry={entry} />}
      </>
    ),
    markdown: (e) => elementText(e) + (e.file === undefined ? '' : ` ${quoted(placeOf(e))}`),
  }),
  list<EmptiedField>(({ dom }) => dom?.emptied_fields, {
    title: 'groupEmptied',
    lane: 'dom',
    severity: 'warning',
    name: 'dom.emptied_fields',
    opens: false,
    texts: ({ element }) => [element],
    line: ({ element }) => element,
    markdown: ({ element }) => quoted(element),
  }),
  list<EmptyPage>(
    ({ dom }) =>
      dom?.page_empty_since === undefined
        ? undefined
        : [
            {
              since: dom.page_empty_since,
              ...(dom.page_empty_tab !== undefined && { tab: dom.page_empty_tab }),
            },
          ],
    {
      title: 'groupEmpty',
      lane: 'dom',
      severity: 'error',
      name: 'dom.page_empty_since',
      opens: false,
      texts: () => [],
      line: () => t('pageIsEmpty'),
      aside: ({ since }) => <time>{hour(Date.parse(since))}</time>,
      markdown: ({ since }) => `${t('pageIsEmpty')} ${hour(Date.parse(since))}`,
    },
  ),
  list<NewElement>(({ dom }) => dom?.flashes, {
    title: 'groupFlashes',
    lane: 'dom',
    name: 'dom.flashes',
    texts: (e) => [e.selector, e.text],
    line: element,
    aside: (e) => e.gone_at != null && <span class="quiet">{t('goneAt', hour(Date.parse(e.gone_at)))}</span>,
    markdown: elementText,
  }),
  list<Changed>(({ network }) => network?.recovered, {
    title: 'groupRecovered',
    lane: 'network',
    severity: 'clean',
    name: 'network.recovered',
    texts: (c) => [c.method, c.url, c.operation, c.previous_error, c.initiator],
    line: address,
    aside: (c, entry) => (
      <Change before={c.previous_status} was={c.previous_error} status={c.status} entry={entry} />
    ),
    markdown: (c) =>
      `${addressText(c)} ${status(c.previous_status, c.previous_error)} → ${c.status}${fromText(c)}`,
  }),
  list<GoneElement>(({ dom }) => dom?.disappeared_elements, {
    title: 'groupVanished',
    lane: 'dom',
    severity: 'clean',
    name: 'dom.disappeared_elements',
    texts: (e) => [e.selector, e.text],
    line: element,
    markdown: elementText,
  }),
  list<Endpoint>(({ network }) => network?.new_endpoints, {
    title: 'groupEndpoints',
    lane: 'network',
    name: 'network.new_endpoints',
    texts: (e) => [e.method, e.url, e.operation, e.initiator, e.called_at],
    line: address,
    aside: (e) => (
      <>
        <span class="quiet">{calledAt(e)}</span> <Status status={e.status} />
      </>
    ),
    markdown: (e) => `${addressText(e)} ${e.status}${fromText(e)}`,
  }),
  list<Connection>(({ websocket }) => websocket?.new_connections, {
    title: 'groupOpened',
    lane: 'websocket',
    name: 'websocket.new_connections',
    texts: (c) => [c.url],
    line: address,
    markdown: (c) => quoted(c.url),
  }),
  list<URLChange>(({ dom }) => (dom?.url_changed == null ? undefined : [dom.url_changed]), {
    title: 'groupMoved',
    lane: 'dom',
    name: 'dom.url_changed',
    opens: false,
    texts: (m) => [m.from, m.to],
    line: (m) => (
      <>
        <span class="url">{m.from}</span> <Arrow /> <span class="url">{m.to}</span>
      </>
    ),
    markdown: (m) => `${quoted(m.from)} → ${quoted(m.to)}`,
  }),
  list<Action>(({ actions }) => actions?.new_actions, {
    title: 'groupActions',
    lane: 'actions',
    name: 'actions.new_actions',
    texts: (a) => [a.type, a.target, a.value],
    line: actionWords,
    aside: ({ at }) => <time class="quiet">{hour(Date.parse(at))}</time>,
    markdown: (a) => `${hour(Date.parse(a.at))} ${quoted(actionWords(a))}`,
  }),
  list<ChangedFile>(({ files }) => files?.changed, {
    title: { text: t('groupFiles') },
    lane: 'files',
    name: 'files.changed',
    texts: (f) => [f.path, f.from, f.change, f.by, f.prompt, f.workspace],
    line: ({ path, from, workspace }) => (
      <>
        {workspace !== undefined && <span class="quiet">{baseName(workspace)}: </span>}
        {from !== undefined && (
          <>
            <span class="url">{from}</span> <Arrow />{' '}
          </>
        )}
        <span class="url">{path}</span>
      </>
    ),
    aside: (f) => (
      <span class="quiet" title={[f.prompt, f.workspace].filter(Boolean).join(' – ')}>
        {[...fileFacts(f), f.by && t('madeBy', f.by)].filter(Boolean).join(' ')}
      </span>
    ),
    markdown: (f) =>
      [
        f.from === undefined ? quoted(f.path) : `${quoted(f.from)} → ${quoted(f.path)}`,
        ...fileFacts(f),
        f.by && t('madeBy', quoted(f.by)),
        f.prompt && quoted(f.prompt),
        f.workspace && quoted(f.workspace),
      ]
        .filter(Boolean)
        .join(' '),
  }),
];

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The sections of a report that the lists do not know, each with its members. */
function otherSections(report: Report): [name: string, members: [string, unknown][]][] {
  const known = new Set(['coverage', ...LISTS.map(({ lane }) => lane)]);
  return Object.entries(report)
    .filter(([name, section]) => !known.has(name) && isObject(section))
    .map(([name, section]) => [name, Object.entries(section as object)]);
}

/** An entry of a list that is not known, in a line. */
function plain(entry: unknown): string {
  if (!isObject(entry)) return String(entry);
  return Object.entries(entry)
    .filter(([name, value]) => name !== 'count' && name !== 'tab' && typeof value !== 'object')
    .map(([, value]) => value)
    .join(' ');
}

/** All lists of a report: those above, then those of sections that are not known, as lines of text. */
export function listsOf(report: Report): readonly List[] {
  const others = otherSections(report).flatMap(([lane, members]) =>
    members.flatMap(([name, entries]) => {
      if (!Array.isArray(entries)) return [];
      const other = list<{ count?: number; tab?: number }>(() => entries, {
        title: { text: `${laneName(lane)}: ${name.replaceAll('_', ' ')}` },
        lane,
        name: `${lane}.${name}`,
        texts: (one) => [plain(one)],
        line: plain,
        markdown: (one) => quoted(plain(one)),
      });
      return [other];
    }),
  );
  return [...LISTS, ...others];
}

/** How many entries of each lane a report does not list. */
export function omittedOf(report: Report): Map<string, number> {
  const omitted = new Map<string, number>();
  for (const [lane, section] of Object.entries(report)) {
    if (!isObject(section) || !('omitted' in section)) continue;
    if (typeof section.omitted === 'number' && section.omitted > 0) omitted.set(lane, section.omitted);
  }
  return omitted;
}

function Reveal({ model, entry }: { model: ViewerModel; entry: ViewRef | undefined }): JSX.Element | null {
  const reveal = model.client.reveal?.bind(model.client);
  const tab = model.overview.value?.tabs.find(({ id }) => id === entry?.tab);
  const [selector, browserID] = [entry?.selector, tab?.browser_id];
  if (reveal === undefined || selector === undefined || browserID === undefined || tab?.own !== true)
    return null;
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        reveal(browserID, selector).catch((error: Error) => {
          model.notice.value = { text: error.message, failed: true };
        });
      }}
    >
      {t('reveal')}
    </button>
  );
}

interface ChangeProps {
  before: number | undefined;
  was?: string | undefined;
  status: number;
  error?: string | undefined;
  now?: number | undefined;
  entry: ViewRef | undefined;
}

function Change({ before = 0, was, status, error, now, entry }: ChangeProps): JSX.Element {
  return (
    <span class="change">
      <Sparkline entry={entry} />
      {(before > 0 || was !== undefined) && (
        <>
          <Status status={was && before < 400 ? 0 : before} error={was} /> <Arrow />{' '}
        </>
      )}
      <Status status={error && status < 400 ? 0 : status} error={error} />
      {now !== undefined && (
        <>
          {' '}
          <Arrow /> <Status status={now} />
        </>
      )}
    </span>
  );
}
