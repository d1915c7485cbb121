import type { Point } from '../../../messages';
import { type ActNode, RefusedGone } from '../../../protocol';
import { Refused } from '../ask';
import { drag as dragTo } from '../input';
import type { Step } from '../step';

/** Drags by the mouse: what the page does with its pointer, or the browser's own drag and drop. */
export async function drag(on: Step): Promise<void> {
  const { path = [], to = [] } = on.step;
  await on.point(to, false);
  const from = await on.point(path, true);
  const { draggable } = await on.ask(path, { do: 'draggable' });
  const told = await on.ask(to, { do: 'ready', needs: { still: true } });
  if (told.point === undefined) throw new Refused({ refused: RefusedGone });
  if (on.send === undefined) {
    await on.ask(path, {
      do: 'drag',
      ...(to.at(-1) !== undefined && { to: (to.at(-1) as ActNode).id }),
    });
    return;
  }
  const target = async (): Promise<Point> => {
    if (to.length > 1) return await on.point(to, false);
    const { point } = await on.ask(to, { do: 'ready', needs: { still: true } });
    return point ?? first;
  };
  const first = to.length > 1 ? await on.point(to, false) : told.point;
  const { sessions } = on.parties;
  let dragged = true;
  const dragging = dragTo(on.send, on.tab, sessions, from, first, target, draggable === true);
  await on.input(
    dragging.then((done) => {
      dragged = done;
    }),
  );
  const [last] = to.slice(-1);
  if (dragged || last === undefined || to.length !== path.length) return;
  on.result.untrusted = 'the browser did not start the drag';
  await on.ask(path, { do: 'drag', to: last.id });
}
