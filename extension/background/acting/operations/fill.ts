import { ENABLED, type Step } from '../step';
import { click } from './click';
import { typeTexts } from './type';

/** Gives a field a value, whatever kind of field it is. */
export async function fill(on: Step): Promise<void> {
  const { path = [], texts = [] } = on.step;
  const told = await on.ask(path, { do: 'fill', needs: ENABLED, texts });
  if (told.focused === false) {
    // a checkbox, radio button or switch that is not as it is to be
    await click(on);
  } else if (told.done !== true) {
    await typeTexts(on, path, texts, { clear: true, submit: false, byKeys: false });
  }
}
