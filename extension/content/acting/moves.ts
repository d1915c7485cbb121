/** What moves in a document after something was done to it. Pages show some things only at the end of a movement. */

/** Properties by which pages show and hide. Those of colors and shadows answer to the pointer and the focus. */
const SHOWS =
  /^(?:opacity|visibility|display|transform|translate|scale|rotate|clip-path|(?:max-|min-)?(?:height|width)|grid-template-(?:rows|columns)|top|right|bottom|left|margin(?:-\w+)?)$/;

/** The longest movement that is waited for, in ms. A longer one is not the start of something. */
const LONGEST_MS = 1000;

/** How much earlier a movement may seem to have begun, in ms: the clocks of pages and of the system drift apart. */
const DRIFT_MS = 50;

/** The movements that began since a time, in ms since the epoch, and that end. Those within an element are left out. */
export function movesSince(since: number, apart: Element | undefined): Animation[] {
  const before = performance.now() - (Date.now() - since) - DRIFT_MS;
  return document.getAnimations().filter((animation) => {
    const { effect, playState, startTime } = animation;
    if (playState !== 'running' || !(effect instanceof KeyframeEffect)) return false;
    if (!(Number(effect.getComputedTiming().endTime) <= LONGEST_MS)) return false;
    if (startTime !== null && Number(startTime) < before) return false;
    if (animation instanceof CSSTransition && !SHOWS.test(animation.transitionProperty)) return false;
    return effect.target === null || apart?.contains(effect.target) !== true;
  });
}

/** Resolves when movements have ended, or after some ms. */
export async function ended(moves: readonly Animation[], ms: number): Promise<void> {
  const time = new Promise((resolve) => setTimeout(resolve, ms));
  await Promise.race([Promise.allSettled(moves.map(({ finished }) => finished)), time]);
}
