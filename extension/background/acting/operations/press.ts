import { stroke } from '../input';
import { readStroke } from '../keys';
import { ENABLED, type Step } from '../step';

/** Presses a key, with the focus on an element where one is named. */
export async function press(on: Step): Promise<void> {
  const { path = [], key = '' } = on.step;
  const pressed = readStroke(key);
  // A page that does not answer would take the key some time later.
  await on.ask(path, { do: 'focus', needs: ENABLED });
  if (on.send === undefined) {
    await on.ask(path, { do: 'key', key: pressed.key.key, modifiers: pressed.modifiers });
  } else {
    await on.input(stroke(on.send, pressed));
  }
}
