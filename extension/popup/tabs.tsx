import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { PopupTab, Way } from '../messages';
import { Switch } from '../ui/switch';
import type { WorkerClient } from './worker-client';

/** How many tabs that are not watched are shown before one asks for all. */
const OTHERS_SHOWN = 2;

/** The tabs of the browser, each with its switch: the one in front first, then the watched ones. */
export function Tabs({ tabs, client }: { tabs: readonly PopupTab[]; client: WorkerClient }): JSX.Element {
  const all = useSignal(false);
  const first = tabs.filter((tab) => tab.active || tab.watched);
  const others = tabs.filter((tab) => !tab.active && !tab.watched);
  const shown = all.value ? others : others.slice(0, OTHERS_SHOWN);
  const watched = tabs.filter((tab) => tab.watched).length;
  return (
    <section class="tabs">
      <h2>
        Tabs <span class="detail">{tabs.length > 0 && `${watched} of ${tabs.length} watched`}</span>
      </h2>
      {tabs.length === 0 ? (
        <p class="quiet">
          No page is open that could be watched. Open your development server, for example{' '}
          <code>http://localhost:5173</code>.
        </p>
      ) : (
        <ul>
          {[...first, ...shown].map((tab) => (
            <TabLine key={tab.id} tab={tab} client={client} />
          ))}
        </ul>
      )}
      {others.length > shown.length && (
        <button type="button" class="link" onClick={() => (all.value = true)}>
          Show {others.length - shown.length} more
        </button>
      )}
    </section>
  );
}

function TabLine({ tab, client }: { tab: PopupTab; client: WorkerClient }): JSX.Element {
  const busy = useSignal(false);
  const problem = useSignal('');

  const ask = async (work: () => Promise<void>): Promise<void> => {
    busy.value = true;
    problem.value = '';
    try {
      await work();
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      busy.value = false;
    }
  };

  const set = (on: boolean, scope: 'tab' | 'origin', permission?: Promise<boolean>): Promise<void> =>
    ask(async () => {
      if (permission === undefined || (await permission)) await client.setWatched(tab.id, on, scope);
      else problem.value = 'Not watched: permission for this site was not given.';
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
  const note = problem.value || tab.note || (tab.watched && !tab.capturing ? 'Starting…' : '');
  return (
    <li class={tab.active ? 'active' : ''}>
      <Favicon url={tab.favicon} origin={tab.origin} />
      <div class="tab">
        <span class="title" title={title}>
          {title}
        </span>
        <span class="origin" title={tab.url}>
          {tab.active && <span class="here">This tab</span>}
          {tab.origin}
        </span>
        {note !== '' && (
          <span class={problem.value || tab.note ? 'note problem' : 'note'} role="status">
            {note}
          </span>
        )}
        {tab.active && tab.way !== undefined && (
          <WayChoice
            way={tab.way}
            busy={busy.value}
            choose={(way) => void ask(() => client.setWay(tab.id, way))}
          />
        )}
        {tab.why === 'off_tab' && (
          <button type="button" class="link" onClick={() => void set(false, 'origin')}>
            Never watch this site
          </button>
        )}
      </div>
      <Switch
        on={tab.watched}
        busy={busy.value}
        label={`Watch ${title}`}
        title={reason(tab)}
        onToggle={toggle}
      />
    </li>
  );
}

const ways: Record<Way, { label: string; title: string }> = {
  quiet: {
    label: 'quietly',
    title: 'No debugging bar. What workers log and the headers of requests in full are not seen.',
  },
  debugger: {
    label: 'in full, with a debugging bar',
    title: 'Everything that DevTools would see. The browser shows a bar across its windows.',
  },
};

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
    <label class="way" title={ways[way].title}>
      Capture{' '}
      <select
        value={way}
        disabled={busy}
        aria-label="How this site is captured"
        onChange={({ currentTarget }) => choose(currentTarget.value as Way)}
      >
        {Object.entries(ways).map(([key, { label, title }]) => (
          <option key={key} value={key} title={title}>
            {label}
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
      return 'Watched by itself: a development site';
    case 'chosen':
      return 'Watched: you switched this site on';
    case 'off_tab':
      return 'Off for this tab';
    case 'off_origin':
      return 'Off for this site';
    case 'not_chosen':
      return tab.permission === undefined
        ? 'Watch this site'
        : 'Watch this site; the browser asks for permission';
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
