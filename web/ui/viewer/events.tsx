/** Everything of the range that is shown, one event a row. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ViewEntries, ViewEntry } from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { words } from '../attempt';
import { type Severity, SeverityMark } from '../severity';
import { Occurrence } from './entry';
import { clock } from './format';
import type { ViewerModel } from './model';
import { Rows } from './rows';
import { gist, laneKind, laneName } from './timeline/lanes';

const LIMIT = 2000;
/** How long typing rests, and how long lies between two readings, in ms. */
const REST_MS = 200;

/** The severity of an entry's mark; undefined where there is nothing to say. */
export function markSeverity(mark: string): Severity | undefined {
  if (mark === '2') return 'error';
  if (mark === '1') return 'warning';
  return mark === '3' ? 'unknown' : undefined;
}

/** The list of events. */
export function Events({ model }: { model: ViewerModel }): JSX.Element {
  const answer = useSignal<ViewEntries | undefined>(undefined);
  const problem = useSignal('');
  const opened = useSignal<ReadonlyMap<string, ViewEntry>>(new Map());
  const { from, to } = model.selection.value;
  const text = model.text.value;
  const least = model.least.value;
  const tab = model.tab.value;
  const all = model.lanes.value.filter((lane) => laneKind(lane).describe === undefined);
  const lanes = all.filter((lane) => !model.without.value.has(lane));
  const key = `${from} ${to} ${text} ${least} ${tab} ${lanes.join()}`;
  const drawn = to === 'now' ? model.drawn.value : 0;
  const last = useRef(0);
  useEffect(() => {
    let stale = false;
    const wait = Math.max(0, last.current + REST_MS - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      const params = {
        from,
        to,
        text,
        severity: least,
        lanes,
        limit: LIMIT,
        brief: true,
        ...(tab !== 0 && { tab }),
      };
      model.client.ask('view_entries', params).then(
        (entries) => {
          if (stale) return;
          answer.value = entries;
          problem.value = '';
        },
        (error: unknown) => {
          if (!stale) problem.value = words(error);
        },
      );
    }, wait);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [key, drawn]);
  const open = async (entry: ViewEntry): Promise<void> => {
    const id = idOf(entry);
    const next = new Map(opened.value);
    if (next.delete(id)) {
      opened.value = next;
      return;
    }
    const { entries } = await model.client.ask('view_entries', {
      lane: entry.lane,
      positions: [entry.position],
    });
    next.set(id, entries[0] ?? entry);
    opened.value = next;
  };
  const entries = answer.value?.entries ?? [];
  const begin = model.range.value?.from ?? 0;
  const evicted = lanes.some((lane) => (model.data.held[lane] ?? 0) > begin);
  const total = answer.value?.total ?? 0;
  if (problem.value !== '') return <p class="problem empty">{problem.value}</p>;
  if (answer.value === undefined) return <p class="empty">{t('loading')}</p>;
  if (lanes.length === 0 || entries.length === 0) {
    return (
      <p class="empty">
        {text !== '' || least !== 'all' || lanes.length < all.length
          ? t('nothingMatches')
          : evicted
            ? t('eventsEvicted')
            : t('noEvents')}
      </p>
    );
  }
  return (
    <div class="events">
      <p class="quiet totals">
        {total > entries.length
          ? many('newestOf', total, entries.length.toLocaleString())
          : many('eventsCount', total)}
        {evicted && ` · ${t('eventsEvicted')}`}
      </p>
      <Rows
        count={entries.length}
        height={26}
        label={t('events')}
        keyOf={(i) => (entries[i] === undefined ? String(i) : idOf(entries[i]))}
        row={(i) => {
          const entry = entries[i];
          if (entry === undefined) return null;
          const whole = opened.value.get(idOf(entry));
          return <Row model={model} entry={entry} whole={whole} onOpen={() => void open(entry)} />;
        }}
      />
    </div>
  );
}

function idOf({ lane, position }: ViewEntry): string {
  return `${lane} ${position}`;
}

interface RowProps {
  model: ViewerModel;
  entry: ViewEntry;
  whole: ViewEntry | undefined;
  onOpen: () => void;
}

function Row({ model, entry, whole, onOpen }: RowProps): JSX.Element {
  const severity = markSeverity(entry.mark);
  return (
    <div class={`event ${severity ?? 'plain'}`}>
      <button type="button" class="event-head" aria-expanded={whole !== undefined} onClick={onOpen}>
        <time>{clock(entry.at)}</time>
        {severity === undefined ? (
          <span class="dot" aria-hidden="true" />
        ) : (
          <SeverityMark severity={severity} size={12} />
        )}
        <span class="lane">{laneName(entry.lane)}</span>
        <span class="event-text">{gist(entry)}</span>
      </button>
      {whole !== undefined && <Occurrence model={model} entry={whole} />}
    </div>
  );
}
