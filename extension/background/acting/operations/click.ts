import { modifierBits } from '../keys';
import type { Step } from '../step';

/** Clicks on an element. */
export async function click(on: Step): Promise<void> {
  const { path = [], button = 'left', double = false, modifiers } = on.step;
  const bits = modifierBits(modifiers);
  if (on.send === undefined) {
    await on.point(path, true);
    await on.ask(path, { do: 'click', button, double, modifiers: bits });
    return;
  }
  await on.strike(on.send, path, button, double ? 2 : 1, bits);
}
