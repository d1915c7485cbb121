/** Mouse and keyboard input that the page cannot distinguish from a user's. */
import type { Protocol } from 'devtools-protocol';
import type { Point } from '../../messages';
import { type Key, keyOf, type Stroke } from './keys';
import type { Sessions, TabSend } from './sessions';

type Button = 'left' | 'right' | 'middle';

const BUTTON_BITS: Readonly<Record<Button, number>> = { left: 1, right: 2, middle: 4 };

export function hover(send: TabSend, { x, y }: Point, modifiers = 0): Promise<unknown> {
  return send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y, modifiers });
}

/**
 * Moves there, and clicks: once, or twice as a double click. Sent without waiting in between: the browser keeps the
 * order, and a move that nothing follows waits for the next frame.
 */
export async function click(
  send: TabSend,
  point: Point,
  name: string,
  count: number,
  modifiers: number,
): Promise<void> {
  const button: Button = name === 'right' || name === 'middle' ? name : 'left';
  const sent = [hover(send, point, modifiers)];
  for (let clickCount = 1; clickCount <= count; clickCount++) {
    const event = { ...point, button, clickCount, modifiers };
    sent.push(
      send('Input.dispatchMouseEvent', { type: 'mousePressed', buttons: BUTTON_BITS[button], ...event }),
      send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...event }),
    );
  }
  await Promise.all(sent);
}

/** How long the browser may take to notice that something is dragged, in ms. */
const DRAG_MS = 500;
/** Over how many places the mouse moves to where it drops. */
const MOVES = 6;

/**
 * Drags from one place to another, which is asked for again once the drag has begun and may have moved it. What is
 * `native` the browser itself drags: then it is told what happens to what it carries; else the page follows the
 * mouse. False when the browser did not start the drag.
 */
export async function drag(
  send: TabSend,
  tab: number,
  sessions: Pick<Sessions, 'listen'>,
  from: Point,
  first: Point,
  target: () => Promise<Point>,
  native: boolean,
): Promise<boolean> {
  const mouse = (type: 'mouseMoved' | 'mousePressed' | 'mouseReleased', at: Point, buttons: number) =>
    send('Input.dispatchMouseEvent', { type, ...at, button: 'left', buttons, clickCount: 1 });
  let carried: Protocol.Input.DragData | undefined;
  let noticed: (() => void) | undefined;
  let ignore = (): void => undefined;
  if (native) {
    await send('Input.setInterceptDrags', { enabled: true });
    ignore = sessions.listen(tab, (method, params) => {
      if (method !== 'Input.dragIntercepted') return;
      carried = (params as Protocol.Input.DragInterceptedEvent).data;
      noticed?.();
    });
  }
  try {
    await hover(send, from);
    await mouse('mousePressed', from, 1);
    for (let i = 1; i <= MOVES; i++) {
      const at = {
        x: from.x + ((first.x - from.x) * i) / MOVES,
        y: from.y + ((first.y - from.y) * i) / MOVES,
      };
      if (carried === undefined) await mouse('mouseMoved', at, 1);
    }
    if (native && carried === undefined) {
      await new Promise<void>((resolve) => {
        noticed = resolve;
        setTimeout(resolve, DRAG_MS);
      });
    }
    if (carried !== undefined) {
      const data = carried;
      const over = async (type: 'dragEnter' | 'dragOver' | 'drop'): Promise<unknown> =>
        await send('Input.dispatchDragEvent', { type, ...to, data });
      let to = await target();
      await over('dragEnter');
      await over('dragOver');
      const now = await target();
      if (now.x !== to.x || now.y !== to.y) {
        to = now;
        await over('dragOver');
      }
      await over('drop');
      await mouse('mouseReleased', to, 0);
    } else {
      await mouse('mouseMoved', await target(), 1);
      const to = await target();
      await mouse('mouseMoved', to, 1);
      await mouse('mouseReleased', to, 0);
    }
    return !native || carried !== undefined;
  } finally {
    if (native) {
      ignore();
      await send('Input.setInterceptDrags', { enabled: false }).catch(() => undefined);
    }
  }
}

/** The most characters that are typed key by key: a page works at each. */
const MOST_KEYS = 200;

/**
 * Types a text: key by key where that is asked for; else it is inserted at once, as an input method does, but for its
 * last character, which has its key, for pages that listen to keys. What no key types is inserted, and so are line
 * breaks, since Enter does other things.
 */
export async function type(send: TabSend, text: string, byKeys: boolean): Promise<void> {
  const chars = [...text];
  const from = byKeys && chars.length <= MOST_KEYS ? 0 : chars.length - 1;
  let inserted = chars.slice(0, from).join('');
  const sent: Promise<unknown>[] = [];
  const insert = (): void => {
    if (inserted !== '') sent.push(send('Input.insertText', { text: inserted }));
    inserted = '';
  };
  for (const char of chars.slice(from)) {
    const stroke = keyOf(char);
    if (stroke === undefined) {
      inserted += char;
      continue;
    }
    insert();
    sent.push(press(send, stroke));
  }
  insert();
  await Promise.all(sent);
}

/** Inserts a text at once, without any key. */
export function insert(send: TabSend, text: string): Promise<unknown> {
  return send('Input.insertText', { text });
}

/** Presses a key and lets it go. */
export async function press(send: TabSend, { key, modifiers }: Omit<Stroke, 'held'>): Promise<void> {
  await Promise.all([down(send, key, modifiers), up(send, key, modifiers)]);
}

/** Presses a key while others are held down. */
export async function stroke(send: TabSend, all: Stroke): Promise<void> {
  let held = 0;
  for (const key of all.held) {
    held |= bit(key);
    await down(send, key, held);
  }
  await press(send, all);
  for (const key of [...all.held].reverse()) {
    held &= ~bit(key);
    await up(send, key, held);
  }
}

function bit({ key }: Key): number {
  return { Alt: 1, Control: 2, Meta: 4, Shift: 8 }[key] ?? 0;
}

function down(send: TabSend, key: Key, modifiers: number): Promise<unknown> {
  const type = key.text === undefined ? 'rawKeyDown' : 'keyDown';
  return send('Input.dispatchKeyEvent', { type, modifiers, ...key, ...commandsOf(key, modifiers) });
}

function up(send: TabSend, { text: _, ...key }: Key, modifiers: number): Promise<unknown> {
  return send('Input.dispatchKeyEvent', { type: 'keyUp', modifiers, ...key });
}

/** What the browser itself would do for some shortcuts in a field, where it takes them from the system. */
function commandsOf({ key }: Key, modifiers: number): { commands?: string[] } {
  if (modifiers !== 2 && modifiers !== 4) return {};
  const command = { a: 'selectAll', c: 'copy', x: 'cut', v: 'paste', z: 'undo', y: 'redo' }[
    key.toLowerCase()
  ];
  return command === undefined ? {} : { commands: [command] };
}
