import { ENABLED, type Step } from '../step';

/** Chooses options of a list. */
export async function select(on: Step): Promise<void> {
  const { path = [], texts = [] } = on.step;
  await on.ask(path, { do: 'choose', needs: ENABLED, texts });
}
