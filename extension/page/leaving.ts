/** Whether the page is being left, by what the browser itself says. */
import type { Channel } from './channel';
import { apply, getOwnPropertyDescriptor, listen, unbound } from './natives';

const trusted = unbound(
  (() => {
    // `isTrusted` is an own accessor of every event.
    const get = getOwnPropertyDescriptor(new Event('x'), 'isTrusted')?.get;
    return function (this: Event): boolean {
      return get === undefined ? this.isTrusted : (apply(get, this, []) as boolean);
    };
  })(),
) as (event: unknown) => boolean;

/** Does something with an event of the browser's own, without the page ever noticing a failure of it. */
export function guard(channel: Channel, does: (event: unknown) => void): (event: unknown) => void {
  return (event) => {
    if (!channel.recording || !trusted(event)) return;
    try {
      does(event);
    } catch {
      // the page goes on
    }
  };
}

/** Calls `turned` when the page begins to be left, and when it is shown again instead of having ended. */
export function watchLeaving(channel: Channel, turned: (leaving: boolean) => void): void {
  const turn = (leaving: boolean): ((event: unknown) => void) =>
    guard(channel, () => {
      channel.leaving = leaving;
      turned(leaving);
    });
  listen(window, 'pagehide', turn(true), true);
  listen(window, 'pageshow', turn(false), true);
}
