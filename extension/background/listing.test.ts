import { expect, test } from 'vitest';
import { hostTabs, type TabFacts } from './listing';

test('a title and an address have no secret when they leave for the host', () => {
  const facts = {
    capturing: () => true,
    choices: { tabsOff: new Set(), origins: { 'http://localhost:5173': true } },
    note: () => undefined,
    paused: () => undefined,
    pausedPart: () => undefined,
    title: (_: number, title: string) => title,
    way: () => 'debugger',
    dom: () => false,
    window: 1,
  } as unknown as TabFacts;
  const tab = { id: 7, url: 'http://localhost:5173/?token=hunter2', title: 'Your API key: a1b2c3d4-planted' };
  const [listed] = hostTabs([{ ...tab, active: false, windowId: 1 }], facts);
  expect(listed).toMatchObject({
    watched: true,
    url: 'http://localhost:5173/?token=[masked]',
    title: 'Your API key: [masked]',
  });
});
