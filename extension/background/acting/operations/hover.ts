import { hover as hoverAt } from '../input';
import type { Step } from '../step';

/** Moves the pointer onto an element. */
export async function hover(on: Step): Promise<void> {
  const { path = [] } = on.step;
  const point = await on.point(path, false);
  if (on.send === undefined) await on.ask(path, { do: 'hover' });
  else await on.input(hoverAt(on.send, point));
}
