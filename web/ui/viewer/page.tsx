/** What assistive software sees of the page, now and at the look before. */
import { useSignal } from '@preact/signals';
import { diffLines } from 'diff';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ViewPage } from '../../../extension/protocol';
import { many, t } from '../../../extension/text';
import { words } from '../attempt';
import { hour } from './format';
import type { ViewerModel } from './model';

/** One line of the tree, and what became of it. */
export interface TreeLine {
  depth: number;
  text: string;
  change: 'same' | 'added' | 'removed';
}

const INDENT = /^(\s*)(?:- )?(.*)$/;

/** The lines of both trees in one: what is gone stands where it was. */
export function treeLines(before: string | undefined, now: string): TreeLine[] {
  const lines: TreeLine[] = [];
  // References are numbered anew where an element was replaced; that alone is no change.
  const parts =
    before === undefined ? [{ value: now, added: false, removed: false }] : diffLines(before, now);
  for (const { value, added, removed } of parts) {
    for (const line of value.split('\n')) {
      const [, space = '', text = ''] = INDENT.exec(line) ?? [];
      if (text.trim() === '') continue;
      lines.push({
        depth: Math.floor(space.length / 2),
        text,
        change: added ? 'added' : removed ? 'removed' : 'same',
      });
    }
  }
  return lines;
}

/** Lines that are far from any change are folded into one that says how many they are. */
const AROUND = 3;

/** The tree of the tab that is shown. */
export function PageTree({ model }: { model: ViewerModel }): JSX.Element {
  const page = useSignal<ViewPage | undefined>(undefined);
  const problem = useSignal('');
  const busy = useSignal(false);
  const whole = useSignal(false);
  const watched = (model.overview.value?.tabs ?? []).filter((tab) => tab.watched === true);
  const tab = model.tab.value || (watched.find(({ active }) => active === true) ?? watched[0])?.id || 0;
  const look = async (anew: boolean): Promise<void> => {
    busy.value = true;
    try {
      page.value = await model.client.ask('view_page', { tab, ...(anew && { anew }) });
      problem.value = '';
    } catch (error) {
      problem.value = words(error);
    }
    busy.value = false;
  };
  useEffect(() => {
    page.value = undefined;
    if (tab !== 0) void look(false);
  }, [tab]);
  if (tab === 0) return <p class="empty">{t('noPage')}</p>;
  const lines = page.value === undefined ? [] : treeLines(page.value.before, page.value.now);
  const changed = lines.filter(({ change }) => change !== 'same').length;
  const search = model.text.value.toLowerCase();
  const near = (i: number): boolean =>
    whole.value ||
    page.value?.before === undefined ||
    lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({ change }) => change !== 'same');
  let folded = 0;
  const shown: JSX.Element[] = [];
  const fold = (i: number): void => {
    if (folded === 0) return;
    shown.push(
      <li class="folded quiet" key={`folded ${i}`}>
        {many('linesSame', folded)}
      </li>,
    );
    folded = 0;
  };
  lines.forEach((line, i) => {
    if (search === '' ? !near(i) : !line.text.toLowerCase().includes(search)) {
      if (search === '') folded++;
      return;
    }
    fold(i);
    shown.push(
      <li key={i} class={line.change} style={{ paddingInlineStart: `${line.depth * 16 + 22}px` }}>
        {line.change !== 'same' && (
          <span class="sign">
            <span aria-hidden="true">{line.change === 'added' ? '+' : '−'}</span>
            <span class="heard">{t(line.change)}</span>
          </span>
        )}
        {line.text}
      </li>,
    );
  });
  fold(lines.length);
  return (
    <div class="page-tree">
      <header>
        <h2>{t('pageTitle')}</h2>
        <button type="button" disabled={busy.value} onClick={() => void look(false)}>
          {t('lookAgain')}
        </button>
        {page.value?.before !== undefined && (
          <>
            <button type="button" disabled={busy.value} onClick={() => void look(true)}>
              {t('lookAnew')}
            </button>
            <label>
              <input
                type="checkbox"
                checked={whole.value}
                onChange={(event) => {
                  whole.value = event.currentTarget.checked;
                }}
              />{' '}
              {t('wholeTree')}
            </label>
          </>
        )}
      </header>
      {problem.value !== '' && <p class="problem">{problem.value}</p>}
      {page.value !== undefined && (
        <p class="quiet" role="status">
          {page.value.before === undefined
            ? t('pageFirst', hour(page.value.at))
            : changed === 0
              ? t('pageSame', hour(page.value.before_at ?? 0))
              : many('pageChanged', changed, hour(page.value.before_at ?? 0))}
        </p>
      )}
      <ul class="tree" aria-label={t('pageTitle')}>
        {shown}
      </ul>
    </div>
  );
}
