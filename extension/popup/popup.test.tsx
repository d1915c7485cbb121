// @vitest-environment happy-dom
import { type Signal, signal } from '@preact/signals';
import { render } from 'preact';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PopupState, PopupTab } from '../messages';
import type {
  Agent,
  CheckpointParams,
  IgnoreParams,
  PopupMomentParams,
  StopAgentParams,
  UnignoreParams,
} from '../protocol';
import { Popup } from './popup';
import type { WorkerClient } from './worker-client';

const shop: PopupTab = {
  id: 7,
  title: 'Shop',
  url: 'http://localhost:5173/cart',
  origin: 'http://localhost:5173',
  watched: true,
  capturing: true,
  why: 'development',
  way: 'quiet',
  active: true,
};
const { way: _, ...unwatched } = shop;
const site: PopupTab = {
  ...unwatched,
  id: 8,
  title: 'Site',
  url: 'https://example.com/',
  origin: 'https://example.com',
  watched: false,
  capturing: false,
  why: 'not_chosen',
  permission: 'https://example.com/*',
  active: false,
};
const connected: PopupState = {
  connection: { state: 'connected', text: 'Connected.', host: '0.1.0', queued: 0, dropped: 0 },
  tabs: [shop, site],
  overview: {
    host: '0.1.0',
    severity: 'warning',
    summary: '1 new console warning(s)',
    warnings: 1,
    checkpoints: [],
  },
};

let state: Signal<PopupState | undefined>;
let asked: string[];
let root: HTMLElement;
let client: WorkerClient;

/** The host's answers to the popup. */
const hostAnswers = {
  checkpoint: ({ name }: CheckpointParams): unknown => {
    asked.push(`checkpoint ${name}`);
    return { name, at: '2026-01-23T14:30:00.000Z', replaced: new Date(2026, 0, 5, 14, 2).toISOString() };
  },
  ignore: ({ fingerprint }: IgnoreParams): unknown => {
    asked.push(`ignore ${fingerprint}`);
    return { id: 'n1', hides: 3 };
  },
  unignore: ({ id }: UnignoreParams): unknown => {
    asked.push(`unignore ${id}`);
    return {};
  },
  moment: ({ label }: PopupMomentParams): unknown => {
    asked.push(`moment ${label}`);
    return { moments: [{ id: 'm7', sessionId: 'shop-1', workspace: '/w' }] };
  },
  stop_agent: ({ id, stopped }: StopAgentParams): unknown => {
    asked.push(`stop ${id} ${stopped}`);
    return {};
  },
};
let answers: typeof hostAnswers;

beforeEach(() => {
  asked = [];
  answers = { ...hostAnswers };
  state = signal(connected);
  client = {
    state,
    setWatched: async (tab, on, scope) => void asked.push(`watch ${tab} ${on} ${scope}`),
    pause: vi.fn(async () => undefined),
    setWay: async (tab, way) => void asked.push(`capture ${tab} ${way}`),
    resume: async (tab) => void asked.push(`resume ${tab}`),
    ask: (async (method: keyof typeof answers, params: never) => answers[method](params)) as never,
    refresh: async () => void asked.push('refresh'),
  };
  root = document.createElement('div');
  document.body.appendChild(root);
  render(<Popup client={client} />, root);
});
afterEach(() => {
  render(null, root);
  root.remove();
  vi.unstubAllGlobals();
});

/** Lets promises and Preact's rendering come to rest. */
const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

function button(text: string): HTMLButtonElement {
  const found = [...root.querySelectorAll('button')].find((each) => each.textContent === text);
  if (found === undefined) throw new Error(`no button ${text}`);
  return found;
}

function toggle(label: string): HTMLButtonElement {
  return root.querySelector(`[role=switch][aria-label="${label}"]`) as HTMLButtonElement;
}

describe('switches', () => {
  it('turn a development site off for its tab', async () => {
    toggle('Watch Shop').click();
    await rest();
    expect(asked).toEqual(['watch 7 false tab']);
  });

  it('ask for permission in the click, and then watch the site', async () => {
    const request = vi.fn(async () => true);
    vi.stubGlobal('chrome', { permissions: { request } });
    toggle('Watch Site').click();
    expect(request).toHaveBeenCalledWith({ origins: ['https://example.com/*'] });
    await rest();
    expect(asked).toEqual(['watch 8 true origin']);
  });

  it('watch nothing without permission, and say so', async () => {
    vi.stubGlobal('chrome', { permissions: { request: async () => false } });
    toggle('Watch Site').click();
    await rest();
    expect(asked).toEqual([]);
    expect(root.textContent).toContain('permission for this site was not granted');
  });
});

describe('agents', () => {
  const agent: Agent = {
    id: 3,
    name: 'Claude Code',
    tab: 7,
    title: 'Shop',
    what: 'click e5',
    acting: true,
    since: '2026-01-23T14:30:00.000Z',
  };
  const show = async (...agents: Agent[]): Promise<void> => {
    state.value = {
      ...connected,
      overview: { host: '0.1.0', severity: 'clean', summary: '', checkpoints: [], agents },
    };
    await rest();
  };

  it('are shown where they act, and stopped at once', async () => {
    expect(root.querySelector('.agents')).toBeNull();
    await show(agent, { ...agent, id: 4, name: 'Cursor', tab: 8, title: 'Site', acting: false });
    expect(root.querySelector('.agents')?.textContent).toContain(
      'Claude Code is acting on this page · click e5Stop',
    );
    expect(root.querySelector('.agents')?.textContent).toMatch(/Cursor.* on Site/);
    (root.querySelector('[aria-label="Stop Cursor"]') as HTMLButtonElement).click();
    await rest();
    expect(asked).toEqual(['stop 4 true']);
  });

  it('that were stopped can be allowed again', async () => {
    await show({ ...agent, stopped: true, acting: false });
    expect(root.querySelector('.agents')?.textContent).toContain('was stopped by you on this page');
    button('Allow again').click();
    await rest();
    expect(asked).toEqual(['stop 3 false']);
  });

  it('are told of with the browser when that is another one', async () => {
    const { tab: _, ...far } = agent;
    await show({ ...far, elsewhere: 'Chromium 156' });
    expect(root.querySelector('.agents')?.textContent).toContain('acting on Shop (Chromium 156)');
  });

  it('that cannot be stopped say why', async () => {
    answers.stop_agent = () => {
      throw new Error('agent 3 is not connected any more');
    };
    await show(agent);
    button('Stop').click();
    await rest();
    expect(root.querySelector('[role=alert]')?.textContent).toBe('agent 3 is not connected any more');
  });
});

describe('how a site is captured', () => {
  it('is chosen for the tab in front', async () => {
    const select = root.querySelector('select') as HTMLSelectElement;
    expect(select.value).toBe('quiet');
    select.value = 'debugger';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await rest();
    expect(asked).toEqual(['capture 7 debugger']);
  });

  it('is not asked of a tab that is not watched', async () => {
    state.value = {
      ...connected,
      tabs: [
        { ...site, active: true },
        { ...shop, active: false },
      ],
    };
    await rest();
    expect(root.querySelector('select')).toBeNull();
  });
});

describe('checkpoints', () => {
  it('are set for all tabs, and tell what they replaced', async () => {
    button('session_start').click();
    await rest();
    expect(asked).toEqual(['checkpoint session_start']);
    expect(root.textContent).toMatch(/session_start set. It replaced the one of .*\d\d/);
  });

  it('are not set by a name that breaks a rule', async () => {
    const input = root.querySelector('input') as HTMLInputElement;
    input.value = 'Before-Refactor';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await rest();
    expect(root.textContent).toContain('Use lowercase letters only.');
    expect(button('Set').disabled).toBe(true);
    input.value = 'before_refactor';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await rest();
    button('Set').click();
    await rest();
    expect(asked).toEqual(['checkpoint before_refactor']);
    expect(input.value).toBe('');
  });

  it('of one name in two projects are told apart, in the list and in what is since', async () => {
    const line = { at: '2026-01-23T14:30:00.000Z', severity: 'clean' };
    const checkpoints = [
      { ...line, name: 'session_start@http://localhost:5173' },
      { ...line, name: 'session_start@http://localhost:3000', at: '2026-01-23T14:31:00.000Z' },
    ];
    state.value = {
      ...connected,
      overview: {
        host: '0.1.0',
        severity: 'clean',
        summary: '',
        since: 'session_start@http://localhost:3000',
        checkpoints,
      },
    };
    await rest();
    const names = [...root.querySelectorAll('.checkpoints li .name')].map((name) => name.textContent);
    expect(names).toEqual(['session_start@http://localhost:3000', 'session_start@http://localhost:5173']);
    expect(root.querySelector('.now')?.textContent).toMatch(
      /Since session_start@http:..localhost:3000, .*, in 1 watched tab$/,
    );
  });

  it('that were not fully observed are not called clean', async () => {
    const line = { at: '2026-01-23T14:30:00.000Z', severity: 'clean', not_observed: true };
    const checkpoints = [
      { ...line, name: 'a' },
      { ...line, name: 'b', at: '2026-01-23T14:31:00.000Z', severity: 'error', errors: 1 },
    ];
    state.value = {
      ...connected,
      overview: { host: '0.1.0', severity: 'clean', summary: '', checkpoints },
    };
    await rest();
    const rows = [...root.querySelectorAll('.checkpoints .severity-badge')].map((row) => row.textContent);
    expect(rows).toEqual(['1 error, not fully observed', 'not fully observed']);
  });

  it('say why one was not set', async () => {
    answers.checkpoint = () => {
      throw new Error('there are 20 already');
    };
    button('pre_commit').click();
    await rest();
    expect(root.textContent).toContain('Cannot set pre_commit: there are 20 already');
  });
});

describe('a moment', () => {
  const add = async (label: string): Promise<void> => {
    const input = root.querySelector('.add-moment input') as HTMLInputElement;
    input.value = label;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await rest();
    root.querySelector<HTMLFormElement>('.add-moment form')?.requestSubmit();
    await rest();
  };

  it('is added with its label', async () => {
    expect(button('Add').disabled).toBe(true);
    await add(' it broke here ');
    expect(asked).toEqual(['moment it broke here']);
    expect(root.textContent).toContain('Added m7 in shop-1.');
  });

  it('says why it was not added', async () => {
    answers.moment = () => {
      throw new Error('no workspace is open');
    };
    await add('x');
    expect(root.textContent).toContain('no workspace is open');
  });
});

describe('findings', () => {
  const slow = {
    kind: 'console',
    level: 'warning',
    origin: shop.origin,
    fingerprint: 'slow frame of {n} ms',
    text: 'slow frame of 1234 ms',
    count: 3,
  };
  beforeEach(async () => {
    state.value = {
      ...connected,
      overview: { ...connected.overview, findings: [slow], more_findings: 2, hidden: 4 } as never,
    };
    await rest();
  });

  it('are listed, with how often they came and how many were hidden', () => {
    const text = root.querySelector('.findings')?.textContent;
    expect(text).toContain('slow frame of 1234 ms');
    expect(text).toContain('×3');
    expect(text).toContain('2 more');
    expect(text).toContain('4 hidden as noise');
  });

  it('that no rule can hide, as an error element, are listed without a button', async () => {
    const alert = { kind: 'dom', level: 'warning', fingerprint: '', text: 'Payment failed', count: 1 };
    state.value = { ...connected, overview: { ...connected.overview, findings: [alert] } as never };
    await rest();
    expect(root.querySelector('.findings li')?.textContent).toBe('Payment failed');
    expect(root.querySelector('.findings li button')).toBeNull();
  });

  it('that are not listed are counted, though none is', async () => {
    state.value = { ...connected, overview: { ...connected.overview, more_findings: 2 } as never };
    await rest();
    expect(root.querySelector('.findings')?.textContent).toContain('2 more');
  });

  it('are ignored from now on, and the last one can be taken back', async () => {
    button('Ignore').click();
    await rest();
    expect(root.textContent).toContain('Ignored: slow frame of 1234 ms');
    button('Undo').click();
    await rest();
    expect(asked).toEqual(['ignore slow frame of {n} ms', 'unignore n1']);
    expect(root.textContent).not.toContain('Ignored:');
  });

  it('say why one was not ignored', async () => {
    answers.ignore = () => {
      throw new Error('there are 250 noise rules');
    };
    button('Ignore').click();
    await rest();
    expect(root.querySelector('[role=alert]')?.textContent).toBe(
      'Cannot ignore this: there are 250 noise rules',
    );
  });
});

describe('without a connection', () => {
  it('says what to do, and sets no checkpoints', async () => {
    state.value = {
      connection: { state: 'refused', text: 'No answer. Run `tidemark install`.', queued: 3, dropped: 0 },
      tabs: [shop],
    };
    await rest();
    expect(root.querySelector('.banner code')?.textContent).toBe('tidemark install');
    expect(root.textContent).toContain('3 events are waiting to be sent.');
    expect(button('session_start').disabled).toBe(true);
    button('Try now').click();
    expect(asked).toEqual(['refresh']);
  });
});

describe('how things stand', () => {
  it('is told in a word and a line', () => {
    expect(root.querySelector('.now')?.textContent).toContain('Warnings');
    expect(root.querySelector('.now')?.textContent).toContain('1 warning');
  });

  it('is never clean while nothing is watched', async () => {
    state.value = {
      ...connected,
      tabs: [site],
      overview: { host: '0.1.0', severity: 'clean', summary: 'No significant changes', checkpoints: [] },
    };
    await rest();
    expect(root.querySelector('.now')?.textContent).toContain('Nothing is watched');
    expect(root.querySelector('.now')?.textContent).not.toContain('Clean');
  });

  it('is not told while watching is paused, but how it goes on', async () => {
    state.value = { ...connected, paused: true };
    await rest();
    expect(root.querySelector('.now.unknown')?.textContent).toMatch(/^Watching is paused.*Resume/);
    expect(button('Resume').getAttribute('aria-pressed')).toBe('true');
  });
});
