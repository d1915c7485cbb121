import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useAttempt } from '../../web/ui/attempt';
import { Prose } from '../../web/ui/prose';
import { Span } from '../../web/ui/span';
import { Switch } from '../../web/ui/switch';
import type { PopupTab, Way } from '../messages';
import type { TabStanding } from '../protocol';
import { many, type TextKey, t } from '../text';
import type { WorkerClient } from './worker-client';

/** How many tabs that are not watched are shown before one asks for all. */
const OTHERS_SHOWN = 2;

interface TabsProps {
  tabs: readonly PopupTab[];
  /** How the watched ones stand. */
  standing: readonly TabStanding[];
  client: WorkerClient;
}

/** The tabs of the browser, each with its switch: the one in front first, then the watched ones. */
export function Tabs({ tabs, standing, client }: TabsProps): JSX.Element {
  const all = useSignal(false);
  const first = tabs.filter((tab) => tab.active || tab.watched);
  const others = tabs.filter((tab) => !tab.active && !tab.watched);
  const shown = all.value ? others : others.slice(0, OTHERS_SHOWN);
  const watched = tabs.filter((tab) => tab.watched).length;
  return (
    <section class="tabs">
      <h2>
        {t('tabs')} {tabs.length > 0 && <span class="detail">{t('tabsWatched', watched, tabs.length)}</span>}
      </h2>
      {tabs.length === 0 ? (
        <p class="quiet">
          <Prose text={t('noPages')} />
        </p>
      ) : (
        <ul>
          {[...first, ...shown].map((tab) => (
            <TabLine
              key={tab.id}
              tab={tab}
              standing={tab.watched ? standing.find((one) => one.tab === tab.id) : undefined}
              client={client}
            />
          ))}
        </ul>
      )}
      {others.length > shown.length && (
        <button type="button" class="link" onClick={() => (all.value = true)}>
          {many('showMore', others.length - shown.length)}
        </button>
      )}
    </section>
  );
}

interface TabLineProps {
  tab: PopupTab;
  standing: TabStanding | undefined;
  client: WorkerClient;
}

function TabLine({ tab, standing, client }: TabLineProps): JSX.Element {
  const { busy, problem, run } = useAttempt();

  const set = (on: boolean, scope: 'tab' | 'origin', permission?: Promise<boolean>): Promise<void> =>
    run(async () => {
      if (permission !== undefined && !(await permission)) throw new Error(t('permissionRefused'));
      await client.setWatched(tab.id, on, scope);
    });

  const toggle = (on: boolean): void => {
    // The browser grants a permission only to a request made in the click itself, before any wait.
    const permission =
      on && tab.permission !== undefined
        ? chrome.permissions.request({ origins: [tab.permission] })
        : undefined;
    void set(on, scopeOf(tab), permission);
  };

  const title = tab.title || tab.origin;
  const note = problem.value || tab.note || (tab.watched && !tab.capturing ? t('starting') : '');
  return (
    <li class={tab.active ? 'active' : ''}>
      <Favicon url={tab.favicon} origin={tab.origin} />
      <div class="tab">
        <span class="title" title={title}>
          {title}
        </span>
        <span class="origin" title={tab.url}>
          {tab.active && <span class="here">{t('thisTab')}</span>}
          {tab.origin}
        </span>
        {standing !== undefined && <Span span={standing} />}
        {note !== '' && (
          <span class={problem.value || tab.note ? 'note problem' : 'note'} role="status">
            {note}
          </span>
        )}
        {tab.active && tab.way !== undefined && (
          <WayChoice
            way={tab.way}
            busy={busy.value}
            choose={(way) => void run(() => client.setWay(tab.id, way))}
          />
        )}
        {tab.why === 'off_tab' && (
          <button type="button" class="link" onClick={() => void set(false, 'origin')}>
            {t('neverWatch')}
          </button>
        )}
      </div>
      <Switch
        on={tab.watched}
        busy={busy.value}
        label={t('watchThat', title)}
        title={reason(tab)}
        onToggle={toggle}
      />
    </li>
  );
}

const WAYS = {
  quiet: { label: 'wayQuiet', title: 'wayQuietTitle' },
  debugger: { label: 'wayDebugger', title: 'wayDebuggerTitle' },
} as const satisfies Record<Way, { label: TextKey; title: TextKey }>;

/** How the pages of this site are captured, and the choice of it. */
function WayChoice({
  way,
  busy,
  choose,
}: {
  way: Way;
  busy: boolean;
  choose: (way: Way) => void;
}): JSX.Element {
  return (
    <label class="way" title={t(WAYS[way].title)}>
      {t('capture')}{' '}
      <select
        value={way}
        disabled={busy}
        aria-label={t('captureOf')}
        onChange={({ currentTarget }) => choose(currentTarget.value as Way)}
      >
        {Object.entries(WAYS).map(([key, { label, title }]) => (
          <option key={key} value={key} title={t(title)}>
            {t(label)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Development origins are switched tab by tab, others as a whole: permission is given for all of one. */
function scopeOf(tab: PopupTab): 'tab' | 'origin' {
  return tab.why === 'development' || tab.why === 'off_tab' ? 'tab' : 'origin';
}

function reason(tab: PopupTab): string {
  switch (tab.why) {
    case 'development':
      return t('whyDevelopment');
    case 'chosen':
      return t('whyChosen');
    case 'off_tab':
      return t('whyOffTab');
    case 'off_origin':
      return t('whyOffOrigin');
    case 'not_chosen':
      return t(tab.permission === undefined ? 'whyNotChosen' : 'whyNoPermission');
  }
}

function Favicon({ url, origin }: { url: string | undefined; origin: string }): JSX.Element {
  const broken = useSignal(false);
  if (url === undefined || broken.value) {
    const letter = /^\w+:\/\/(?:www\.)?(.)/.exec(origin)?.[1] ?? '·';
    return (
      <span class="favicon" aria-hidden="true">
        {letter.toUpperCase()}
      </span>
    );
  }
  return (
    <img
      class="favicon"
      src={url}
      width="16"
      height="16"
      alt=""
      referrerpolicy="no-referrer"
      onError={() => (broken.value = true)}
    />
  );
}
