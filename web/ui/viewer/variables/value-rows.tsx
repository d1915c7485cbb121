/** A tree of variables, as it is seen and moved through. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { ViewScope, ViewValue } from '../../../../extension/protocol';
import { type TextKey, t } from '../../../../extension/text';
import { type Opened, type TreeRow, treeMove, treeRows } from './value-tree';

interface ValueTreeProps {
  scopes: readonly ViewScope[];
  label: string;
  openAtFirst: boolean;
  search: string;
}

/** The tree. Its state begins anew with another key. */
export function ValueTree({ scopes, label, openAtFirst, search }: ValueTreeProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const opened = useSignal<Opened>(new Map());
  const current = useSignal('');
  const rows = treeRows(scopes, opened.value, openAtFirst, search);
  const focusable = rows.some(({ id }) => id === current.value) ? current.value : rows[0]?.id;
  const set = (id: string, open: boolean): void => {
    opened.value = new Map(opened.value).set(id, open);
  };
  const press = (event: KeyboardEvent, row: TreeRow): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = treeMove(rows, row.id, event.key);
    if (move === undefined) return;
    event.preventDefault();
    if ('open' in move) set(move.open, true);
    else if ('close' in move) set(move.close, false);
    else list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(move.to)}"]`)?.focus();
  };
  return (
    <div class="values" role="tree" aria-label={label} ref={list}>
      {rows.map((row) => (
        <div
          key={row.id}
          role="treeitem"
          data-id={row.id}
          class={`value-row ${row.value?.change ?? ''}`}
          tabIndex={row.id === focusable ? 0 : -1}
          aria-level={row.level}
          aria-posinset={row.place}
          aria-setsize={row.of}
          aria-expanded={row.open}
          aria-selected={false}
          style={{ paddingInlineStart: `${(row.level - 1) * 16 + 22}px` }}
          onFocus={() => {
            current.value = row.id;
          }}
          onClick={() => {
            if (row.open !== undefined) set(row.id, !row.open);
          }}
          onKeyDown={(event) => press(event, row)}
        >
          {row.open !== undefined && <span class={row.open ? 'twist open' : 'twist'} aria-hidden="true" />}
          <RowText row={row} />
        </div>
      ))}
    </div>
  );
}

const SCOPES: Readonly<Record<string, TextKey>> = {
  local: 'scopeLocal',
  argument: 'scopeArgument',
  this: 'scopeThis',
  block: 'scopeBlock',
  closure: 'scopeClosure',
  module: 'scopeModule',
  expression: 'scopeExpression',
};

function RowText({ row: { scope, value, same, more } }: { row: TreeRow }): JSX.Element {
  if (scope !== undefined) {
    const name = SCOPES[scope.scope];
    return <strong>{name === undefined ? scope.scope : t(name)}</strong>;
  }
  if (value !== undefined) return <ValueText value={value} />;
  return <span class="quiet">{same !== undefined ? t('sameValues', same) : t('moreValues', more ?? 0)}</span>;
}

const SIGNS: Readonly<Record<string, { sign: string; heard: TextKey }>> = {
  added: { sign: '+', heard: 'added' },
  removed: { sign: '−', heard: 'removed' },
  modified: { sign: '~', heard: 'modified' },
  retyped: { sign: '~', heard: 'retyped' },
};

function ValueText({
  value: { name, type, value = '', change = '', old, old_type: oldType },
}: {
  value: ViewValue;
}): JSX.Element {
  const sign = SIGNS[change];
  return (
    <>
      {sign !== undefined && (
        <span class="sign">
          <span aria-hidden="true">{sign.sign}</span>
          <span class="heard">{t(sign.heard)}</span>
        </span>
      )}
      <code class="value-name">{name}</code>
      {type !== '' && (oldType !== undefined || !value.startsWith(type)) && (
        <span class="value-type quiet">{oldType === undefined ? type : `${oldType} → ${type}`}</span>
      )}
      {old !== undefined && (
        <>
          {change !== 'removed' && <span class="heard">{t('valueWas')}</span>}
          <del>{old}</del>
        </>
      )}
      {old !== undefined && value !== '' && (
        <span class="arrow" aria-hidden="true">
          →
        </span>
      )}
      {value !== '' && (change === '' ? <span class="value-now">{value}</span> : <ins>{value}</ins>)}
    </>
  );
}
