/** The whole viewer: what panel, side panel and dashboard show. */
import { useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../../../extension/text';
import { words } from '../attempt';
import { Prose } from '../prose';
import { SeverityMark, severityOf } from '../severity';
import { ActingAgents } from './acting';
import { Calls } from './calls';
import { Checkpoints } from './checkpoints';
import { Conversation } from './conversation/conversation';
import { Arrow } from './entry';
import { Events } from './events';
import { gather, har, page, requests, save, styles } from './exports';
import type { Least, Section, ViewerModel } from './model';
import { Moments } from './moments/moments';
import { PageTree } from './page';
import { PausedPages } from './paused';
import { reportMarkdown, timelineText } from './report/markdown';
import { ReportView } from './report/report';
import { Timeline } from './timeline/timeline';
import { Variables } from './variables/variables';
import './viewer.css';

const SECTIONS: readonly Section[] = [
  'changes',
  'events',
  'calls',
  'page',
  'variables',
  'moments',
  'conversation',
];

const SECTION_NAMES = {
  changes: 'changes',
  events: 'events',
  moments: 'moments',
  conversation: 'conversation',
  calls: 'whatAgentSaw',
  page: 'pageShort',
  variables: 'variables',
} as const;

/** The viewer. */
export function Viewer({ model }: { model: ViewerModel }): JSX.Element {
  const connection = model.client.connection.value;
  const connected = connection.state === 'connected';
  const search = useRef<HTMLInputElement>(null);
  const help = useSignal(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement | null;
      if (event.key === 'Escape') {
        help.value = false;
        if (target === search.current) {
          model.text.value = '';
          search.current?.blur();
        }
        return;
      }
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target?.closest('input, select, textarea') != null
      )
        return;
      const done = shortcut(event.key, model, {
        search: () => search.current?.focus(),
        help: () => (help.value = !help.value),
      });
      if (done) event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
  useSignalEffect(() => {
    if (model.complete.value) requestAnimationFrame(() => performance.mark('tidemark ready'));
  });
  return (
    <div class="viewer">
      <Bar model={model} search={search} onHelp={() => (help.value = !help.value)} />
      {!connected && (
        <p class="banner" role="alert">
          <SeverityMark severity="unknown" size={16} />
          <span>
            <Prose text={connection.text} />
          </span>
          <button type="button" onClick={() => model.client.connect()}>
            {t('tryNow')}
          </button>
        </p>
      )}
      <PausedPages model={model} />
      <ActingAgents model={model} />
      {model.ready.value ? (
        <>
          <Timeline model={model} />
          <div class="columns">
            <Checkpoints model={model} />
            <main>
              <Compared model={model} />
              <Middle model={model} />
            </main>
          </div>
        </>
      ) : (
        connected && (
          <p class="empty" aria-busy="true">
            {model.problem.value || t('loading')}
          </p>
        )
      )}
      <NoticeBar model={model} />
      {help.value && <Help onClose={() => (help.value = false)} />}
    </div>
  );
}

interface Does {
  search: () => void;
  help: () => void;
}

/** What a key does; false for one that does nothing. */
function shortcut(key: string, model: ViewerModel, does: Does): boolean {
  const section = SECTIONS[Number(key) - 1];
  if (section !== undefined) {
    model.section.value = section;
    return true;
  }
  switch (key) {
    case '/':
      does.search();
      return true;
    case '?':
      does.help();
      return true;
    case 'c':
      document.getElementById('checkpoint-name')?.focus();
      return true;
    case 'n':
      model.select(undefined);
      return true;
    case '[':
    case ']':
      step(model, key === '[' ? -1 : 1);
      return true;
    case 'j':
    case 'k':
      return moveFocus(key === 'j' ? 1 : -1);
    default:
      return false;
  }
}

/** Goes to the checkpoint before or after the one that is shown; after the last is now. */
function step(model: ViewerModel, by: number): void {
  const list = model.checkpoints.value?.checkpoints ?? [];
  const { to } = model.selection.value;
  const at = to === 'now' ? list.length : list.findIndex(({ moment }) => moment === to);
  const next = Math.min(list.length, Math.max(0, at + by));
  const checkpoint = list[next];
  if (checkpoint === undefined) model.select(undefined);
  else model.selectUntil(checkpoint.moment);
}

function moveFocus(by: number): boolean {
  const all = [
    ...document.querySelectorAll<HTMLElement>(
      '.middle :is(.opener:enabled, .event-head, .moment-head, .call-head)',
    ),
  ];
  if (all.length === 0) return false;
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
  all[next]?.focus();
  return true;
}

const MIDDLES = {
  changes: Changes,
  events: Events,
  moments: Moments,
  conversation: Conversation,
  calls: Calls,
  page: PageTree,
  variables: Variables,
} as const;

function Middle({ model }: { model: ViewerModel }): JSX.Element {
  const section = model.section.value;
  const Shown = MIDDLES[section];
  return (
    <div class="middle" id="middle" role="tabpanel" aria-labelledby={`tab-${section}`}>
      <Shown model={model} />
    </div>
  );
}

function Changes({ model }: { model: ViewerModel }): JSX.Element {
  const report = model.report.value;
  const beside = model.besideReport.value;
  if (report === undefined) return <p class="empty">{model.problem.value || t('loading')}</p>;
  return (
    <>
      {model.problem.value !== '' && <p class="problem">{model.problem.value}</p>}
      <Unwatched model={model} />
      {model.beside.value !== undefined && beside !== undefined ? (
        <div class="side-by-side">
          <ReportView model={model} report={beside} />
          <ReportView model={model} report={report} />
        </div>
      ) : (
        <ReportView model={model} report={report} />
      )}
    </>
  );
}

/** Where nothing is watched: why, and the way to mend it. */
function Unwatched({ model }: { model: ViewerModel }): JSX.Element | null {
  const overview = model.overview.value;
  if (overview === undefined || overview.tabs.some(({ watched }) => watched === true)) return null;
  const browsers = overview.browsers.filter(({ connected }) => connected);
  const why =
    browsers.length === 0
      ? 'noBrowser'
      : browsers.some(({ paused }) => paused === true)
        ? 'resumeIt'
        : 'nothingWatched';
  return (
    <p class="said">
      <Prose text={t(why)} />
    </p>
  );
}

/** Which two moments are compared; both can be chosen anew. */
function Compared({ model }: { model: ViewerModel }): JSX.Element {
  const { from, to } = model.selection.value;
  const list = model.checkpoints.value?.checkpoints ?? [];
  const names = list.map(({ moment }) => moment);
  const options = (moments: string[], chosen: string): JSX.Element[] =>
    [...new Set([...moments, chosen])].map((moment) => (
      <option key={moment} value={moment}>
        {model.nameOf(moment)}
      </option>
    ));
  return (
    <div class="compared">
      <div class="sections" role="tablist" aria-label={t('views')}>
        {SECTIONS.map((section, i) => (
          <button
            key={section}
            id={`tab-${section}`}
            type="button"
            role="tab"
            aria-selected={model.section.value === section}
            aria-controls="middle"
            tabIndex={model.section.value === section ? 0 : -1}
            title={`${t(SECTION_NAMES[section])} (${i + 1})`}
            onClick={() => {
              model.section.value = section;
            }}
            onKeyDown={(event) => {
              const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
              const next = SECTIONS[(i + by + SECTIONS.length) % SECTIONS.length];
              if (by === 0 || next === undefined) return;
              model.section.value = next;
              document.getElementById(`tab-${next}`)?.focus();
            }}
          >
            {t(SECTION_NAMES[section])}
          </button>
        ))}
      </div>
      {(model.section.value === 'changes' || model.section.value === 'events') && (
        <div class="moments">
          <select
            aria-label={t('from')}
            value={from}
            onChange={(event) => model.select({ from: event.currentTarget.value, to }, model.beside.value)}
          >
            {options(['start', ...names], from)}
          </select>
          <Arrow />
          <select
            aria-label={t('to')}
            value={to}
            onChange={(event) => model.select({ from, to: event.currentTarget.value }, model.beside.value)}
          >
            {options([...names, 'now'], to)}
          </select>
          {(model.chosen.value !== undefined || model.beside.value !== undefined) && (
            <button type="button" onClick={() => model.select(undefined)}>
              {t('backToNow')}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

interface BarProps {
  model: ViewerModel;
  search: { current: HTMLInputElement | null };
  onHelp: () => void;
}

/** Which tab, how it stands, what is looked for, and what can be taken along. */
function Bar({ model, search, onHelp }: BarProps): JSX.Element {
  const overview = model.overview.value;
  // The title of a tab is known from when it was watched: something may be held of it.
  const tabs = (overview?.tabs ?? []).filter(
    (tab) => tab.watched === true || tab.id === model.tab.value || tab.title !== '',
  );
  const severity =
    overview === undefined
      ? 'unknown'
      : severityOf(model.checkpoints.value?.now.severity, model.checkpoints.value?.now.not_observed);
  return (
    <header class="bar">
      <h1>
        <SeverityMark severity={severity} size={18} />
        Tidemark
      </h1>
      <select
        class="tab-select"
        aria-label={t('tab')}
        value={model.tab.value}
        disabled={overview === undefined}
        onChange={(event) => model.showTab(Number(event.currentTarget.value))}
      >
        <option value={0}>{t('allTabs')}</option>
        {tabs.map((tab) => (
          <option key={tab.id} value={tab.id} title={tab.url}>
            {tab.id} · {tab.title || tab.url}
          </option>
        ))}
      </select>
      <input
        ref={search}
        type="search"
        class="search"
        placeholder={t('search')}
        aria-label={t('search')}
        value={model.text.value}
        onInput={(event) => {
          model.text.value = event.currentTarget.value;
        }}
      />
      <select
        aria-label={t('leastSeverity')}
        value={model.least.value}
        onChange={(event) => model.setLeast(event.currentTarget.value as Least)}
      >
        <option value="all">{t('leastAll')}</option>
        <option value="warnings">{t('leastWarnings')}</option>
        <option value="errors_only">{t('leastErrors')}</option>
      </select>
      <span class="bar-end">
        <button type="button" disabled={model.report.value === undefined} onClick={() => void copy(model)}>
          {t('copyMarkdown')}
        </button>
        <Export model={model} />
        <button type="button" aria-label={t('keys')} title={t('keys')} onClick={onHelp}>
          ?
        </button>
      </span>
    </header>
  );
}

async function copy(model: ViewerModel): Promise<void> {
  const report = model.report.value;
  if (report === undefined) return;
  const list = model.checkpoints.value?.checkpoints ?? [];
  const head = list.length === 0 ? '' : `\`\`\`\n${timelineText(list)}\`\`\`\n\n`;
  const text = head + reportMarkdown(report, (moment) => model.nameOf(moment));
  // DevTools keeps the clipboard's newer interface from panels; the older one works everywhere.
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  let done = document.execCommand('copy');
  area.remove();
  if (!done) {
    done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  model.notice.value = done ? { text: t('copied'), failed: false } : { text: t('notCopied'), failed: true };
}

/** Files to take along. */
function Export({ model }: { model: ViewerModel }): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null);
  const busy = useSignal(false);
  const make = async (what: () => Promise<void>): Promise<void> => {
    if (menu.current !== null) menu.current.open = false;
    busy.value = true;
    try {
      await what();
    } catch (error) {
      model.notice.value = { text: words(error), failed: true };
    }
    busy.value = false;
  };
  const name = (ending: string, of = ''): string =>
    `tidemark-${of}${new Date().toISOString().slice(0, 19).replace(/[:T]/g, '-')}.${ending}`;
  const { from, to } = model.selection.value;
  return (
    <details
      class="menu export"
      ref={menu}
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null))
          event.currentTarget.open = false;
      }}
    >
      <summary aria-busy={busy.value}>{t('export')}</summary>
      <div class="menu-items">
        <button
          type="button"
          onClick={() =>
            void make(async () => {
              const session = await gather(model);
              const drawn = document.createElement('div');
              for (const report of session.spans) {
                const part = document.createElement('section');
                render(<ReportView model={model} report={report} />, part);
                drawn.append(part);
              }
              for (const control of drawn.querySelectorAll('button:not(.opener, .source, .introduced)'))
                control.remove();
              for (const control of drawn.querySelectorAll('button')) {
                const text = document.createElement('span');
                text.className = control.className;
                text.append(...control.childNodes);
                control.replaceWith(text);
              }
              save(name('html'), 'text/html', page(session, drawn.innerHTML, styles()));
            })
          }
        >
          {t('exportHTML')}
        </button>
        <button
          type="button"
          onClick={() =>
            void make(async () => {
              save(name('json'), 'application/json', JSON.stringify(await gather(model), null, 1));
            })
          }
        >
          {t('exportJSON')}
        </button>
        <button
          type="button"
          onClick={() =>
            void make(async () => {
              const range = t('fromTo', model.nameOf(from), model.nameOf(to));
              const log = har(await requests(model), model.overview.value?.host ?? '', range);
              const of = `${from}-to-${to}-`.replace(/[^\w-]/g, '-');
              save(name('har', of), 'application/json', JSON.stringify(log, null, 1));
            })
          }
        >
          {t('exportHAR', model.nameOf(from), model.nameOf(to))}
        </button>
      </div>
    </details>
  );
}

/** How long it is said what was done, and why something was not, in ms. */
const DONE_MS = 8000;
const FAILED_MS = 20_000;

/** What was done, or why not; goes away by itself. */
function NoticeBar({ model }: { model: ViewerModel }): JSX.Element {
  const notice = model.notice.value;
  useEffect(() => {
    if (notice === undefined) return;
    const timer = setTimeout(
      () => {
        model.notice.value = undefined;
      },
      notice.failed ? FAILED_MS : DONE_MS,
    );
    return () => clearTimeout(timer);
  }, [notice, model]);
  return (
    <div class="notice-frame" role="status">
      {notice !== undefined && (
        <p class={notice.failed ? 'notice failed' : 'notice'}>
          {notice.failed && <SeverityMark severity="error" size={14} />}
          <span>{notice.text}</span>
          {notice.undo !== undefined && (
            <button
              type="button"
              onClick={() => {
                model.notice.value = undefined;
                void notice.undo?.run();
              }}
            >
              {notice.undo.label}
            </button>
          )}
          <button
            type="button"
            class="close"
            aria-label={t('close')}
            onClick={() => {
              model.notice.value = undefined;
            }}
          >
            ×
          </button>
        </p>
      )}
    </div>
  );
}

const KEYS = [
  ['/', 'keySearch'],
  ['c', 'keyCheckpoint'],
  ['[  ]', 'keyStep'],
  ['n', 'keyNow'],
  ['j  k', 'keyMove'],
  ['1 … 7', 'keySections'],
  ['←  →', 'keyPan'],
  ['+  −', 'keyZoom'],
  ['Home  End', 'keyFit'],
  ['Enter', 'keyRange'],
  ['?', 'keyHelp'],
] as const;

function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal?.();
  }, []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">{t('keys')}</h2>
      <dl>
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">{t('close')}</button>
      </form>
    </dialog>
  );
}
