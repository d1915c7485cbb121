import type { Step } from '../step';

/** Answers the dialog that is open. */
export async function answerDialog(on: Step): Promise<void> {
  const { accept = false, texts } = on.step;
  const { sessions, activity } = on.parties;
  const promptText = texts?.[0] ?? sessions.dialog(on.tab)?.default;
  await on.debugger()('Page.handleJavaScriptDialog', {
    accept,
    ...(promptText !== undefined && { promptText }),
  });
  for (let left = on.inputMs(); sessions.dialog(on.tab) !== undefined && left > 0; ) {
    const began = Date.now();
    await activity.change(on.tab, left);
    left -= Date.now() - began;
  }
}
