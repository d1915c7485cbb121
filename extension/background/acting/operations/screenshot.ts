import type { Box } from '../../../messages';
import { type ActNode, RefusedGone, RefusedOutside } from '../../../protocol';
import { askFrame, Refused } from '../ask';
import { FLUSH_MS } from '../rest';
import type { Step } from '../step';

/** CSS pixels of a page's picture, pixels of its side. */
const MAX_PAGE = 6000;
const MAX_SIDE = 1024;
/** How long the browser may take to draw a picture, in ms. */
const SHOT_MS = 5000;

/** A picture, small enough for an agent to pay for; what is secret on the page is shown as dots. */
export async function screenshot(on: Step): Promise<void> {
  const send = on.debugger();
  const { path = [], full = false } = on.step;
  for (let i = 1; i <= path.length; i++) {
    await on.ask(path.slice(0, i), { do: 'ready', needs: { still: true } });
  }
  const { cssLayoutViewport: view, cssContentSize: content } = await on.answered(
    send('Page.getLayoutMetrics'),
    on.inputMs(),
  );
  let area = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight };
  let beyond = full;
  if (full) area = { x: 0, y: 0, width: content.width, height: Math.min(content.height, MAX_PAGE) };
  if (path.length > 0) {
    const { x, y, width, height } = await boxOf(on, path);
    if (width < 1 || height < 1) throw new Refused({ refused: RefusedOutside });
    area = { x: x + view.pageX, y: y + view.pageY, width, height };
    beyond = x < 0 || y < 0 || x + width > view.clientWidth || y + height > view.clientHeight;
  }
  const scale = Math.min(1, MAX_SIDE / Math.max(area.width, area.height));
  await veil(on, 'veil');
  try {
    const { data } = await on.answered(
      send('Page.captureScreenshot', {
        format: 'jpeg',
        quality: 75,
        captureBeyondViewport: beyond,
        clip: { ...area, scale },
      }),
      on.inputMs() + SHOT_MS,
    );
    on.result.image = data;
    on.result.mime = 'image/jpeg';
  } finally {
    await veil(on, 'unveil');
  }
}

/** The part of the tab's viewport in which an element is shown. */
async function boxOf(on: Step, path: readonly ActNode[]): Promise<Box> {
  let { box } = await on.ask(path, { do: 'box' });
  for (let i = path.length - 1; i > 0; i--) {
    ({ box } = await on.ask(path.slice(0, i), { do: 'box', ...(box !== undefined && { box }) }));
  }
  if (box === undefined) throw new Refused({ refused: RefusedGone });
  return box;
}

/** Veils what is secret in every frame that is watched, or takes that back. */
async function veil(on: Step, what: 'veil' | 'unveil'): Promise<void> {
  const frames = new Set([0, ...on.parties.frames.frames(on.tab)]);
  const asked = [...frames].map((frame) =>
    askFrame(on.tab, frame, { do: what, ms: FLUSH_MS }).catch(() => undefined),
  );
  await on.answered(Promise.all(asked), on.inputMs());
}
