/** One line of a report, which opens into what it was made of. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Place, ViewEntry, ViewRef } from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { words } from '../attempt';
import { type Severity, SeverityMark } from '../severity';
import { clock, duration, size } from './format';
import type { ViewerModel } from './model';
import { laneKind } from './timeline/lanes';

/** How many occurrences are shown at first, and more at a time. */
const SHOWN = 5;

interface LineProps {
  model: ViewerModel;
  /** Undefined for what is neither good nor bad. */
  severity?: Severity;
  entry: ViewRef | undefined;
  /** What a screen reader calls it; also what search looks through. */
  children: ComponentChildren;
  aside?: ComponentChildren;
  count?: number | undefined;
  /** The tab where several are shown. */
  tab?: number | undefined;
  /** False where there is nothing to open into. */
  opens?: boolean;
}

/** A line of a report. */
export function Line({
  model,
  severity,
  entry,
  children,
  aside,
  count = 1,
  tab,
  opens = true,
}: LineProps): JSX.Element {
  const open = useSignal(false);
  const canOpen = opens && (entry?.positions.length ?? 0) > 0;
  const place = entry?.source;
  const url = tab === undefined ? undefined : model.overview.value?.tabs.find(({ id }) => id === tab)?.title;
  return (
    <li class={`line ${severity ?? 'plain'}`}>
      <div class="line-head">
        <button
          type="button"
          class="opener"
          aria-expanded={canOpen ? open.value : undefined}
          disabled={!canOpen}
          onClick={() => {
            open.value = !open.value;
          }}
        >
          {severity === undefined ? (
            <span class="dot" aria-hidden="true" />
          ) : (
            <SeverityMark severity={severity} size={14} />
          )}
          <span class="line-text">{children}</span>
        </button>
        <span class="line-meta">
          {count > 1 && (
            <span class="count" title={many('occurrences', count)}>
              ×{count.toLocaleString()}
            </span>
          )}
          {aside}
          {place !== undefined && place !== null && <Source model={model} place={place} />}
          {tab !== undefined && (
            <span class="tab-name" title={url}>
              {t('tabNumber', tab)}
            </span>
          )}
        </span>
      </div>
      {open.value && entry !== undefined && <Opened model={model} entry={entry} />}
    </li>
  );
}

/** A place in code: opens in the Sources panel where there is one. */
export function Source({ model, place }: { model: ViewerModel; place: Place }): JSX.Element {
  const file = place.file ?? place.url;
  const line = place.file === undefined ? place.line : place.file_line;
  const name = `${baseName(file)}${line ? `:${line}` : ''}`;
  const whole = `${file}${line ? `:${line}` : ''}`;
  const mark = place.generated === true ? ` ${t('generated')}` : '';
  const open = model.client.openSource?.bind(model.client);
  if (open === undefined) {
    return (
      <span class="source" title={whole}>
        {name}
        {mark}
      </span>
    );
  }
  return (
    <button
      type="button"
      class="source link"
      title={t('openSource', whole)}
      onClick={() => {
        void open(place).then((found) => {
          if (!found) model.notice.value = { text: t('sourceUnknown', whole), failed: true };
        });
      }}
    >
      {name}
      {mark}
    </button>
  );
}

/** The last part of an address, which most files are known by. */
export function baseName(url: string): string {
  const path = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return path.slice(path.lastIndexOf('/') + 1) || url;
}

/** The occurrences of a line, the newest first, and what can be done about it. */
function Opened({ model, entry }: { model: ViewerModel; entry: ViewRef }): JSX.Element {
  const entries = useSignal<ViewEntry[] | undefined>(undefined);
  const shown = useSignal(SHOWN);
  const missing = useSignal(0);
  const problem = useSignal('');
  const wanted = entry.positions.slice(-shown.value).toReversed();
  const key = wanted.join(' ');
  useEffect(() => {
    let stale = false;
    const ask = async (): Promise<void> => {
      const all: ViewEntry[] = [];
      let gone = 0;
      for (let told = 0; ; ) {
        const positions = wanted.slice(told);
        const answer = await model.client.ask('view_entries', { lane: entry.lane, positions });
        if (stale) return;
        all.push(...answer.entries);
        gone += answer.missing ?? 0;
        entries.value = [...all];
        missing.value = gone;
        problem.value = '';
        const before = told;
        told = all.length + gone;
        if (told === before || told >= wanted.length) return; // an answer holds as many as fit into one message
      }
    };
    ask().catch((error: unknown) => {
      if (!stale) problem.value = words(error);
    });
    return () => {
      stale = true;
    };
  }, [key, entry.lane]);
  const more = entry.positions.length - shown.value;
  const finding = entry.finding;
  return (
    <div class="opened">
      {(entry.latency?.length ?? 0) > 1 && <Latencies entry={entry} />}
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {entries.value === undefined && problem.value === '' && <p class="quiet">{t('loading')}</p>}
      {entries.value?.map((one) => (
        <Occurrence key={`${one.lane}${one.position}`} model={model} entry={one} />
      ))}
      {missing.value > 0 && <p class="quiet">{many('noLongerHeld', missing.value)}</p>}
      <div class="actions">
        {more > 0 && (
          <button
            type="button"
            onClick={() => {
              shown.value += 20;
            }}
          >
            {many('showMore', more)}
          </button>
        )}
        {finding !== undefined && finding !== null && (
          <button type="button" onClick={() => void model.ignore(finding)}>
            {t('ignore')}
          </button>
        )}
      </div>
    </div>
  );
}

/** One entry as it was captured. */
export function Occurrence({ model, entry }: { model: ViewerModel; entry: ViewEntry }): JSX.Element {
  const kind = laneKind(entry.lane);
  return (
    <article class="occurrence">
      <header>
        <time dateTime={new Date(entry.at).toISOString()}>{clock(entry.at)}</time>
        <kind.Outcome entry={entry} />
        {(entry.masked ?? 0) > 0 && <span class="masked">{many('masked', entry.masked ?? 0)}</span>}
      </header>
      {kind.Content === undefined ? (
        entry.text !== undefined && entry.text !== '' && <pre class="body">{entry.text}</pre>
      ) : (
        <kind.Content entry={entry} />
      )}
      {(entry.length ?? 0) > 0 && <p class="quiet">{t('cutAt', size(entry.length ?? 0))}</p>}
      {(entry.stack?.length ?? 0) > 0 && (
        <ol class="stack" aria-label={t('stack')}>
          {entry.stack?.map((frame, i) => (
            <li key={i}>
              <StackFrame model={model} frame={frame} />
            </li>
          ))}
        </ol>
      )}
    </article>
  );
}

const FRAME = /^(?:(.*) )?\((.*):(\d+):(\d+)\)( \(generated\))?$/;

/** A line of a stack in parts; without a place where it is in none: as it stands, or of evaluated code. */
export function frameOf(line: string): { name: string; place?: Place } {
  const parts = FRAME.exec(line);
  if (parts === null) return { name: line };
  const [, name = '', url = '', row, column, generated] = parts;
  const called = name || t('anonymous');
  if (url === '') return { name: `${called} :${row}:${column}` };
  const place: Place = { url, line: Number(row), column: Number(column) };
  return { name: called, place: generated === undefined ? place : { ...place, generated: true } };
}

function StackFrame({ model, frame }: { model: ViewerModel; frame: string }): JSX.Element {
  const { name, place } = frameOf(frame);
  return (
    <>
      <code>{name}</code> {place !== undefined && <Source model={model} place={place} />}
    </>
  );
}

const PLOT = { width: 260, height: 46 };

/** How long an endpoint's requests took, the ones before the window to the left of the line. */
function Latencies({ entry }: { entry: ViewRef }): JSX.Element {
  const list = entry.latency ?? [];
  const most = Math.max(...list.map(({ ms }) => ms), 1);
  const step = PLOT.width / list.length;
  const before = list.filter((one) => one.before === true).length;
  const bars = list.map((one, i) => {
    const tall = Math.max(2, (one.ms / most) * (PLOT.height - 4));
    return (
      <rect
        key={`${one.at} ${i}`}
        x={i * step + step * 0.15}
        y={PLOT.height - tall}
        width={Math.max(1, step * 0.7)}
        height={tall}
        class={one.failed === true ? 'bad' : one.before === true ? 'before' : 'after'}
      >
        <title>{`${clock(one.at)} · ${one.status} · ${duration(one.ms)}`}</title>
      </rect>
    );
  });
  return (
    <figure class="latency">
      <svg
        viewBox={`0 0 ${PLOT.width} ${PLOT.height}`}
        width={PLOT.width}
        height={PLOT.height}
        role="img"
        aria-label={t('latencyOf', list.length, duration(most))}
      >
        {bars}
        {before > 0 && before < list.length && (
          <line x1={before * step} x2={before * step} y1="0" y2={PLOT.height} class="edge" />
        )}
      </svg>
      <figcaption class="quiet">{t('latencyOf', list.length, duration(most))}</figcaption>
    </figure>
  );
}

/** The same in the size of a word. */
export function Sparkline({ entry }: { entry: ViewRef | undefined }): JSX.Element | null {
  const list = (entry?.latency ?? []).slice(-24);
  if (list.length < 2) return null;
  const most = Math.max(...list.map(({ ms }) => ms), 1);
  return (
    <svg class="spark" viewBox="0 0 72 16" width="72" height="16" aria-hidden="true">
      {list.map((one, i) => {
        const tall = Math.max(1.5, (one.ms / most) * 15);
        return (
          <rect
            key={`${one.at} ${i}`}
            x={i * 3}
            y={16 - tall}
            width="2"
            height={tall}
            class={one.failed === true ? 'bad' : one.before === true ? 'before' : 'after'}
          />
        );
      })}
    </svg>
  );
}

/** From one to the other; heard as a word. */
export function Arrow(): JSX.Element {
  return (
    <span class="arrow">
      <span aria-hidden="true">→</span>
      <span class="heard">{t('then')}</span>
    </span>
  );
}
