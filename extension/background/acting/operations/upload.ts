import { RefusedChooser, RefusedOption } from '../../../protocol';
import { Refused } from '../ask';
import type { Step } from '../step';

/** Gives a field files, as the file chooser that a click opens would. */
export async function upload(on: Step): Promise<void> {
  const send = on.debugger();
  const { path = [], texts = [] } = on.step;
  const { sessions } = on.parties;
  let ignore = (): void => undefined;
  await send('Page.setInterceptFileChooserDialog', { enabled: true });
  try {
    const opened = new Promise<{ backendNodeId?: number; mode: string }>((resolve) => {
      ignore = sessions.listen(on.tab, (method, params) => {
        if (method === 'Page.fileChooserOpened') resolve(params as { backendNodeId?: number; mode: string });
      });
    });
    await on.strike(send, path, 'left', 1, 0);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, on.inputMs(), undefined);
    });
    const chooser = await Promise.race([opened, late]);
    clearTimeout(timer);
    if (chooser?.backendNodeId === undefined) throw new Refused({ refused: RefusedChooser });
    if (texts.length > 1 && chooser.mode !== 'selectMultiple') {
      throw new Refused({ refused: RefusedOption, text: 'one file only' });
    }
    await send('DOM.setFileInputFiles', { files: [...texts], backendNodeId: chooser.backendNodeId });
  } finally {
    ignore();
    await send('Page.setInterceptFileChooserDialog', { enabled: false }).catch(() => undefined);
  }
}
