/** The lanes of the timeline: how each is called, and how its entries are shown. */
import type { ComponentType, JSX } from 'preact';
import type { ViewEntry } from '../../../../extension/protocol';
import { many, type TextKey, t } from '../../../../extension/text';
import type { Ask } from '../../client';
import { CONVERSATION } from '../conversation/model';
import { duration, size } from '../format';
import { MOMENTS, TERMINAL } from '../moments/model';
import { Request, Status } from '../request';
import { fileChangeWords } from '../words';

/** Where descriptions of entries come from. */
export interface Source {
  client: { ask: Ask };
  moments: { describe(position: number): string; describeCommand(position: number): string };
  conversation: { describe(position: number): string };
}

type Show = ComponentType<{ entry: ViewEntry }>;

/** How the entries of a lane are shown. */
interface LaneKind {
  /** The name of the lane, in the words of the pages; absent where they have none. */
  title?: TextKey;
  /** Set for a lane that is shown only when it has had entries. */
  rare?: boolean;
  /** An entry in a line. */
  gist(entry: ViewEntry): string;
  /** What stands at the head of an entry. */
  Outcome: Show;
  /** What stands below it; its text by default. */
  Content?: Show;
  /** Set for a lane whose entries are not those of `view_entries`: describes one by its position. */
  describe?(source: Source, position: number): Promise<string>;
}

const joined = (...parts: (string | number | false | undefined)[]): string => parts.filter(Boolean).join(' ');

/** A lane that is not in the table is shown with its name, and its entries as text. */
const OTHER: LaneKind = {
  gist: ({ kind, text, url }) => joined(kind, text, url) || t('noText'),
  Outcome: ({ entry: { kind, url } }) => (
    <span>
      {kind} {url !== undefined && <code class="url">{url}</code>}
    </span>
  ),
};

const KINDS: ReadonlyMap<string, LaneKind> = new Map<string, LaneKind>([
  [
    'console',
    {
      title: 'laneConsole',
      gist: ({ text }) => text || t('noText'),
      Outcome: ({ entry: { via, kind } }) => (
        <span>{via === 'console' || via === undefined ? `console.${kind}` : via}</span>
      ),
    },
  ],
  [
    'network',
    {
      title: 'laneNetwork',
      gist: ({ method, url, status, error, duration_ms }) =>
        `${method} ${url} → ${status || error || ''} (${duration(duration_ms ?? 0)})`,
      Outcome: RequestOutcome,
      Content: Request,
    },
  ],
  [
    'websocket',
    {
      title: 'laneWebSocket',
      gist: ({ kind, url, text, code, reason }) => joined(kind, url, text, code, reason),
      Outcome: ({ entry: { kind, url, code, reason } }) => (
        <span>
          {kind} <code class="url">{url}</code>
          {code !== undefined && ` ${code}`}
          {reason !== undefined && ` ${reason}`}
        </span>
      ),
    },
  ],
  [
    'dom',
    {
      title: 'laneDOM',
      gist: ({ kind, text, selector, url }) => joined(kind, text, selector, url),
      Outcome: ({ entry: { kind, selector, url } }) => (
        <span>
          {kind}
          {selector !== undefined && (
            <>
              {' '}
              <code>{selector}</code>
            </>
          )}
          {url !== undefined && (
            <>
              {' '}
              <code class="url">{url}</code>
            </>
          )}
        </span>
      ),
    },
  ],
  [
    'actions',
    {
      title: 'laneActions',
      gist: ({ kind, text, value }) => joined(kind, text, value),
      Outcome: ({ entry: { kind, selector, value } }) => (
        <span>
          {kind} {selector !== undefined && <code>{selector}</code>} {value !== undefined && <q>{value}</q>}
        </span>
      ),
    },
  ],
  [
    'variables',
    {
      title: 'laneVariables',
      rare: true,
      gist: ({ kind, text, value }) => joined(kind, text, value),
      Outcome: ({ entry: { kind, reason, via, value } }) => (
        <span>
          {joined(kind, reason, via)} {value !== undefined && <code>{value}</code>}
        </span>
      ),
    },
  ],
  [
    'files',
    {
      title: 'laneFiles',
      rare: true,
      gist: ({ kind, from, text, value, via }) =>
        joined(
          fileChangeWords(kind),
          from !== undefined && `${from} →`,
          text,
          value,
          via && t('madeBy', via),
        ),
      Outcome: ({ entry: { kind, from, value, via, workspace } }) => (
        <span title={workspace}>
          {fileChangeWords(kind)} {from !== undefined && <code>{from}</code>} {value}
          {via !== undefined && <span class="quiet"> {t('madeBy', via)}</span>}
        </span>
      ),
    },
  ],
  [
    MOMENTS,
    {
      ...OTHER,
      title: 'moments',
      rare: true,
      describe: async ({ moments }, position) => moments.describe(position),
    },
  ],
  [
    TERMINAL,
    {
      ...OTHER,
      title: 'laneTerminal',
      rare: true,
      describe: async ({ moments }, position) => moments.describeCommand(position),
    },
  ],
  [
    CONVERSATION,
    {
      ...OTHER,
      title: 'lanePrompts',
      rare: true,
      describe: async ({ conversation }, position) => conversation.describe(position),
    },
  ],
  ['calls', { ...OTHER, title: 'laneCalls', describe: describeCall }],
]);

/** The lanes that are always shown, from top to bottom. */
export const LANES: readonly string[] = [...KINDS.keys()].filter((lane) => KINDS.get(lane)?.rare !== true);

/** How the entries of a lane are shown. */
export function laneKind(lane: string): LaneKind {
  return KINDS.get(lane) ?? OTHER;
}

/** The name of a lane as it is shown. */
export function laneName(lane: string): string {
  const { title } = laneKind(lane);
  return title === undefined ? lane : t(title);
}

/** An entry in a line. */
export function gist(entry: ViewEntry): string {
  return laneKind(entry.lane).gist(entry);
}

/** Describes the entry of a lane at a position in a line. */
export async function describe(source: Source, lane: string, position: number): Promise<string> {
  const kind = laneKind(lane);
  if (kind.describe !== undefined) return await kind.describe(source, position);
  const { entries } = await source.client.ask('view_entries', { lane, positions: [position], brief: true });
  const entry = entries[0];
  return entry === undefined ? t('gone') : kind.gist(entry);
}

async function describeCall({ client }: Source, position: number): Promise<string> {
  const { calls } = await client.ask('view_calls', { positions: [position] });
  const call = calls[0];
  return call === undefined ? t('gone') : `${call.agent_name}: ${call.tool} · ${many('tokens', call.tokens)}`;
}

function RequestOutcome({ entry }: { entry: ViewEntry }): JSX.Element {
  return (
    <span>
      <code>{entry.method}</code> <Status status={entry.status ?? 0} error={entry.error} />
      {entry.duration_ms !== undefined && <span class="quiet"> {duration(entry.duration_ms)}</span>}
      {(entry.size ?? 0) > 0 && <span class="quiet"> {size(entry.size ?? 0)}</span>}
      {entry.cached === true && <span class="quiet"> {t('cached')}</span>}
    </span>
  );
}
