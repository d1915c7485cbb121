import { press as pressKey, stroke } from '../input';
import { editing, readStroke } from '../keys';
import { ENABLED, type Step } from '../step';

/** Presses a key, with the focus on an element where one is named. */
export async function press(on: Step): Promise<void> {
  const { path = [], key = '' } = on.step;
  const pressed = readStroke(key);
  // A page that does not answer would take the key some time later.
  const told = await on.ask(path, { do: 'focus', needs: ENABLED });
  const { send } = on;
  if (send === undefined) {
    await on.ask(path, { do: 'key', key: pressed.key.key, modifiers: pressed.modifiers });
  } else {
    // The browser takes input in the order in which it is sent.
    const input = told.editor === 'code' ? [pressKey(send, editing('end'))] : [];
    await on.input(Promise.all([...input, stroke(send, pressed)]));
  }
}
