import { ENABLED, type Step } from '../step';

/** Waits until an element can be acted on. */
export async function ready(on: Step): Promise<void> {
  await on.ask(on.step.path ?? [], { do: 'ready', needs: { ...ENABLED, still: true } });
}
