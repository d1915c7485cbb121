import type { ActTold } from '../../../messages';
import { type ActNode, RefusedFailed } from '../../../protocol';
import { Refused } from '../ask';
import { insert, press as pressKey, type as typeKeys } from '../input';
import { editing, readStroke } from '../keys';
import type { TabSend } from '../sessions';
import { ENABLED, type Step } from '../step';

/** Types texts into a field, or where the focus is, one after the other. */
export function type(on: Step): Promise<void> {
  const { path = [], texts = [], clear = false, submit = false } = on.step;
  return typeTexts(on, path, texts, { clear, submit, byKeys: true });
}

/** Puts texts into a field by the keyboard: `byKeys` has each letter be heard as a key of its own. */
export async function typeTexts(
  on: Step,
  path: readonly ActNode[],
  texts: readonly string[],
  { clear, submit, byKeys }: { clear: boolean; submit: boolean; byKeys: boolean },
): Promise<void> {
  const isFocused = path.length === 0; // its caret or selection stays where it is
  const send = isFocused ? on.debugger() : on.send;
  for (const text of texts) {
    if (send === undefined) {
      const told = await on.ask(path, { do: 'text', needs: ENABLED, texts: [text], clear });
      if (told.done === true) await on.ask(path, { do: 'fill', texts: [text] });
      if (submit) await on.ask(path, { do: 'key', key: 'Enter' });
      continue;
    }
    let told = await on.ask(path, { do: 'field', needs: ENABLED, clear, texts: [text] });
    // The browser takes input in the order in which it is sent.
    const input: Promise<unknown>[] = [];
    if (told.done === true) await on.ask(path, { do: 'fill', texts: [text] });
    else {
      if (told.focused !== true) {
        await on.strike(send, path, 'left', 1, 0);
        told = await on.ask(path, { do: 'field', clear, texts: [text] });
        reaches(told);
      }
      if (told.byKeys === true) await empty(on, send, path);
      if (told.editor === 'segment' && clear) await emptySegment(on, send, path);
      if (told.editor === 'code') {
        if (clear || !isFocused) await on.input(pressKey(send, editing(clear ? 'all' : 'end')));
        // Typed, it would be indented anew, and its brackets closed.
        const pasted = text === '' ? undefined : await on.ask(path, { do: 'paste', texts: [text] });
        if (pasted?.done === false) input.push(insert(send, text));
        else if (text === '' && clear) input.push(pressKey(send, readStroke('Delete')));
      } else if (told.editor === 'rich' && !isFocused && text.includes('\n')) {
        // Behind several lines the browser does not find the end of what it inserted.
        input.push(insert(send, text), pressKey(send, editing('end')));
      } else if (text !== '') {
        const isKeyed = told.editor === 'segment' || (byKeys && told.line === true);
        input.push(typeKeys(send, text, isKeyed));
      } else if (clear && told.byKeys !== true && told.editor !== 'segment')
        input.push(pressKey(send, readStroke('Delete')));
    }
    if (submit) input.push(pressKey(send, readStroke('Enter')));
    await on.input(Promise.all(input));
  }
}

/** Refuses where the page keeps the focus from a field. */
function reaches({ elsewhere }: ActTold): void {
  if (elsewhere === undefined) return;
  const to = elsewhere === 'page' ? 'the page itself' : elsewhere;
  const text = `the text would not reach it, because the page moves the focus to ${to}`;
  throw new Refused({ refused: RefusedFailed, text });
}

/** Deletes what a part of a date shows, key by key. In an empty one, the key would move the focus to another part. */
async function emptySegment(on: Step, send: TabSend, path: readonly ActNode[]): Promise<void> {
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    const { left = 0, elsewhere } = await on.ask(path, { do: 'left' });
    if (elsewhere !== undefined) reaches(await on.ask(path, { do: 'field' }));
    if (left === 0 || left >= before) return;
    before = left;
    await on.input(pressKey(send, readStroke('Backspace')));
  }
}

/** How often what is left of an editor's text is selected and deleted. */
const MOST_ROUNDS = 5;

/**
 * Empties an editor as users do: by the key that selects all, and Delete. With the caret in a cell of a table that is all of
 * the cell, and the next time more. What is left then, the page selects.
 */
async function empty(on: Step, send: TabSend, path: readonly ActNode[]): Promise<void> {
  const erase = readStroke('Delete');
  let before = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    await on.input(Promise.all([pressKey(send, editing('all')), pressKey(send, erase)]));
    const { left = 0, elsewhere } = await on.ask(path, { do: 'left' });
    if (elsewhere !== undefined) reaches(await on.ask(path, { do: 'field', clear: true }));
    if (left === 0) return;
    if (left >= before) break;
    before = left;
  }
  await on.ask(path, { do: 'field', clear: true });
  await on.input(pressKey(send, erase));
}
