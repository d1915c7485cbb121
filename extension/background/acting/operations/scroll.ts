import type { Step } from '../step';

/** Scrolls the page, or an element. */
export async function scroll(on: Step): Promise<void> {
  const { path = [], x = 0, y = 0 } = on.step;
  await on.ask(path, { do: 'scroll', x, y });
}
