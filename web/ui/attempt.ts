import { type ReadonlySignal, useSignal } from '@preact/signals';

/** An error in words for a person. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Something that a person has done: under way, and why it failed the last time ("" when it did not). */
export interface Attempt {
  readonly busy: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string>;
  /** Does it; never rejects. `said` puts the reason of a failure into a sentence. */
  run(work: () => Promise<void>, said?: (why: string) => string): Promise<void>;
}

/** For whatever a button does that may take time and fail. */
export function useAttempt(): Attempt {
  const busy = useSignal(false);
  const problem = useSignal('');
  const run: Attempt['run'] = async (work, said = (why) => why) => {
    busy.value = true;
    problem.value = '';
    try {
      await work();
    } catch (error) {
      problem.value = said(words(error));
    } finally {
      busy.value = false;
    }
  };
  return { busy, problem, run };
}
