/** The variables of paused code, as agents have them: snapshots, what is different between two, tracepoints. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type {
  ViewTrace,
  ViewVariableSnapshot,
  ViewVariables,
  ViewVariableTree,
} from '../../../../extension/protocol';
import { many, type TextKey, t } from '../../../../extension/text';
import { words } from '../../attempt';
import { clock, duration, hour } from '../format';
import type { ViewerModel } from '../model';
import { ValueTree } from './value-rows';
import { isSmall } from './value-tree';
import './variables.css';

/** What a snapshot is compared with: nothing, the one of the same function before it, or the one of an id. */
type Against = '' | 'before' | (string & {});

/** The snapshots and tracepoints of the tab that is shown, or of all. */
export function Variables({ model }: { model: ViewerModel }): JSX.Element {
  const held = useSignal<ViewVariables | undefined>(undefined);
  const tree = useSignal<ViewVariableTree | undefined>(undefined);
  const problem = useSignal('');
  const chosen = useSignal('');
  const against = useSignal<Against>('before');
  const tab = model.tab.value;
  // Snapshots come and go by calls of agents; what else ends them changes the state of a tab.
  void model.drawn.value;
  const last = model.data.lane('calls').positions.at(-1) ?? 0;
  const overview = model.overview.value;
  useEffect(() => {
    let stale = false;
    model.client.ask('view_variables', tab === 0 ? {} : { tab }).then(
      (answer) => {
        if (stale) return;
        held.value = answer;
        problem.value = '';
      },
      (error: unknown) => {
        if (!stale) problem.value = words(error);
      },
    );
    return () => {
      stale = true;
    };
  }, [tab, last, overview]);
  const snapshots = held.value?.snapshots ?? [];
  // Until a person chooses one, the newest is shown.
  const shown = snapshots.find(({ id }) => id === chosen.value) ?? snapshots.at(-1);
  const from = against.value === 'before' ? shown?.before : against.value;
  const other = snapshots.find(({ id }) => id === from && id !== shown?.id);
  useEffect(() => {
    if (shown === undefined) {
      tree.value = undefined;
      return;
    }
    let stale = false;
    model.client
      .ask('view_variable_tree', { to: shown.id, ...(other !== undefined && { from: other.id }) })
      .then(
        (answer) => {
          if (stale) return;
          tree.value = answer;
          problem.value = '';
        },
        (error: unknown) => {
          if (!stale) problem.value = words(error);
        },
      );
    return () => {
      stale = true;
    };
  }, [shown?.id, other?.id]);
  const traces = held.value?.traces ?? [];
  return (
    <div class="variables">
      <h2>{t('variablesTitle')}</h2>
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {held.value !== undefined && snapshots.length === 0 && <p class="empty">{t('noVariables')}</p>}
      {shown !== undefined && (
        <>
          <Snapshots
            snapshots={snapshots}
            shown={shown.id}
            onChoose={(id) => {
              chosen.value = id;
            }}
          />
          <label class="against">
            {t('compared')}{' '}
            <select
              value={against.value === 'before' || other !== undefined ? against.value : ''}
              onChange={(event) => {
                against.value = event.currentTarget.value;
              }}
            >
              <option value="">{t('comparedNothing')}</option>
              <option value="before">{t('comparedBefore')}</option>
              {snapshots
                .filter(({ id }) => id !== shown.id)
                .map(({ id, label, at }) => (
                  <option key={id} value={id}>
                    {label} ({hour(at)})
                  </option>
                ))}
            </select>
          </label>
          {tree.value !== undefined && (
            <Tree
              tree={tree.value}
              search={model.text.value}
              alone={against.value === 'before' && other === undefined}
            />
          )}
        </>
      )}
      {traces.length > 0 && (
        <>
          <h3>{t('traces')}</h3>
          {traces.map((trace) => (
            <Trace key={`${trace.tab} ${trace.place} ${trace.columns.join()}`} trace={trace} />
          ))}
        </>
      )}
    </div>
  );
}

interface SnapshotsProps {
  snapshots: readonly ViewVariableSnapshot[];
  shown: string;
  onChoose: (id: string) => void;
}

function Snapshots({ snapshots, shown, onChoose }: SnapshotsProps): JSX.Element {
  return (
    <table class="snapshots" aria-label={t('snapshots')}>
      <thead>
        <tr>
          <th scope="col">{t('snapshotLabel')}</th>
          <th scope="col">{t('snapshotTaken')}</th>
          <th scope="col">{t('snapshotFunction')}</th>
          <th scope="col" class="number wide">
            {t('snapshotThread')}
          </th>
          <th scope="col" class="number wide">
            {t('snapshotCount')}
          </th>
        </tr>
      </thead>
      <tbody>
        {snapshots.map(({ id, label, at, function: name, place, thread, count }) => (
          <tr key={id} class={id === shown ? 'chosen' : ''}>
            <td>
              <button type="button" class="opener" aria-pressed={id === shown} onClick={() => onChoose(id)}>
                {label}
              </button>
            </td>
            <td>
              <time>{clock(at)}</time>
            </td>
            <td>
              <code>{name || t('outsideFunctions')}</code> <span class="quiet">{place}</span>
            </td>
            <td class="number wide">{thread}</td>
            <td class="number wide">{count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface TreeProps {
  tree: ViewVariableTree;
  search: string;
  /** It was to be compared with one before it, and there is none. */
  alone: boolean;
}

function Tree({
  tree: { from, to, summary = '', elapsed_ms: elapsed = 0, ...tree },
  search,
  alone,
}: TreeProps) {
  const label = from === undefined ? to.label : `${from.label} → ${to.label}`;
  const { scopes, notes = [], omitted = 0 } = tree;
  return (
    <section class="variable-tree" aria-label={label}>
      <p class="tree-head" role="status">
        <strong>{label}</strong>
        {from === undefined ? (
          alone && <span class="quiet">{t('noneBefore')}</span>
        ) : (
          <>
            <span>{scopes.length === 0 ? t('sameVariables') : summary}</span>
            <span class="quiet">{t(elapsed < 0 ? 'earlierBy' : 'laterBy', duration(Math.abs(elapsed)))}</span>
          </>
        )}
      </p>
      {notes.map((note) => (
        <p key={note} class="said">
          {note}
        </p>
      ))}
      {omitted > 0 && <p class="said">{t('moreValues', omitted.toLocaleString())}</p>}
      {from === undefined && scopes.length === 0 && <p class="empty">{t('noVariablesHere')}</p>}
      {scopes.length > 0 && (
        <ValueTree
          key={`${from?.id ?? ''} ${to.id}`}
          scopes={scopes}
          label={label}
          openAtFirst={from !== undefined && isSmall(scopes)}
          search={search}
        />
      )}
    </section>
  );
}

const TRACE_STATES: Readonly<Record<string, TextKey>> = {
  tracing: 'traceTracing',
  waiting: 'traceWaiting',
  done: 'traceDone',
};

/** What a tracepoint recorded, as its agent was told of it last. */
function Trace({ trace }: { trace: ViewTrace }): JSX.Element {
  const { place, hits, state, columns, evolution, rows = [], notes = [] } = trace;
  const word = TRACE_STATES[state];
  return (
    <section class="trace">
      <p>
        <code>{place}</code> {many('hits', hits)}
        <span class="quiet">{word !== undefined && `, ${t(word)}`}</span>
      </p>
      {rows.length > 0 ? (
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                {t('traceMs')}
              </th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  <code>{column}</code>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([ms, ...values], i) => (
              <tr key={`${i} ${ms}`}>
                <td class="number">{ms}</td>
                {values.map((value, j) => (
                  <td key={`${j} ${columns[j]}`} class={rows[i - 1]?.[j + 1] === value ? 'quiet' : ''}>
                    <code>{value}</code>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        hits > 0 &&
        columns.map((column, i) => (
          <p key={column} class="evolution">
            <code>{column}</code> <code>{evolution[i]}</code>
          </p>
        ))
      )}
      {notes.map((note) => (
        <p key={note} class="said">
          {note}
        </p>
      ))}
    </section>
  );
}
