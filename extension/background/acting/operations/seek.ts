import type { Step } from '../step';

/** Refuses where the page's top frame has a text in a hidden element. */
export async function seek(on: Step): Promise<void> {
  await on.ask([], { do: 'seek', texts: on.step.texts ?? [] });
}
