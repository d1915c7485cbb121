// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ContentEvent } from '../messages';
import { Actions } from './actions';
import { SensitiveFields } from './sensitive/fields';

type Action = Extract<ContentEvent, { kind: 'action' }>;

const ending: AbortController[] = [];
let actions: Actions;
let events: Action[];
let enabled: boolean;
let scripted: WeakSet<Event>;

beforeEach(() => {
  vi.useFakeTimers();
  const controller = new AbortController();
  ending.push(controller);
  events = [];
  enabled = true;
  scripted = new WeakSet();
  actions = new Actions(window, {
    emit: (event) => events.push(event as Action),
    mask: () => '[masked]',
    enabled: () => enabled,
    sensitive: new SensitiveFields(controller.signal),
    signal: controller.signal,
    trusted: (event) => !scripted.has(event),
  });
});
afterEach(() => {
  for (const controller of ending.splice(0)) controller.abort();
  vi.useRealTimers();
  document.body.innerHTML = '';
});

function put<Wanted extends Element = HTMLElement>(html: string, selector: string): Wanted {
  document.body.innerHTML = html;
  return document.querySelector(selector) as Wanted;
}

function fire(element: EventTarget, event: Event): boolean {
  return element.dispatchEvent(event);
}

function click(element: Element, detail = 1): boolean {
  return fire(element, new MouseEvent('click', { bubbles: true, composed: true, cancelable: true, detail }));
}

function type(field: HTMLElement, text: string, inputType = 'insertText'): void {
  if ('value' in field) field.value = `${field.value}${text}`;
  else field.textContent += text;
  fire(field, new InputEvent('input', { bubbles: true, composed: true, inputType }));
}

function press(element: Element, key: string, init: KeyboardEventInit = {}): boolean {
  return fire(
    element,
    new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true, ...init }),
  );
}

/** What was recorded, one line an action. */
function told(): string[] {
  return events.map(({ action, target, value }) => [action, target, value].filter(Boolean).join(' '));
}

describe('clicks', () => {
  it('are told with the target in words', () => {
    click(put('<button><b>Add</b> to cart</button>', 'b'));
    expect(told()).toEqual(['click button "Add to cart"']);
    expect(events[0]?.selector).toBe('button');
  });

  it('made by a script do not count', () => {
    const button = put('<button>Go</button>', 'button');
    const event = new MouseEvent('click', { bubbles: true });
    scripted.add(event);
    fire(button, event);
    expect(told()).toEqual([]);
  });

  it('by keyboard are told once, without the key', () => {
    const button = put('<button>Go</button>', 'button');
    press(button, 'Enter');
    click(button, 0);
    expect(told()).toEqual(['click button "Go"']);
  });

  it('on a button that the browser clicks because Enter was pressed in a field are left out', () => {
    const input = put(
      '<form aria-label="Search"><input aria-label="Words"><button>Go</button></form>',
      'input',
    );
    type(input, 'shoes');
    press(input, 'Enter');
    click(document.querySelector('button') as Element, 0); // submits by itself
    expect(told()).toEqual([
      'type textbox "Words" shoes',
      'key textbox "Words" Enter',
      'submit form "Search"',
    ]);
  });

  it('reach through open shadow roots', () => {
    const host = put('<x-card></x-card>', 'x-card');
    const root = host.attachShadow({ mode: 'open' });
    root.innerHTML = '<button>Inside</button>';
    click(root.querySelector('button') as Element);
    expect(told()).toEqual(['click button "Inside"']);
  });

  it('are not recorded while recording is off', () => {
    enabled = false;
    click(put('<button>Go</button>', 'button'));
    expect(told()).toEqual([]);
  });
});

describe('typing', () => {
  it('in one field is one action a burst', () => {
    const input = put('<label>Email <input></label>', 'input');
    for (const letter of 'a@b.c') type(input, letter);
    expect(told()).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(told()).toEqual(['type textbox "Email" a@b.c']);
    type(input, 'om');
    vi.advanceTimersByTime(1000);
    expect(told()[1]).toBe('type textbox "Email" a@b.com');
  });

  it.each([
    [
      'leaving the field',
      (field: Element) => fire(field, new FocusEvent('focusout', { bubbles: true, composed: true })),
    ],
    ['a click elsewhere', () => click(document.body)],
    ['a flush', () => actions.flush()],
    ['typing elsewhere', () => type(document.querySelector('#other') as HTMLElement, 'x')],
  ])('ends with %s', (_, end) => {
    const input = put('<input id="one" aria-label="One"><input id="other" aria-label="Other">', '#one');
    type(input, 'first');
    end(input);
    expect(told()[0]).toBe('type textbox "One" first');
  });

  it('comes before the action that ends it', () => {
    const input = put('<input aria-label="Name"><button>Save</button>', 'input');
    type(input, 'Ada');
    click(document.querySelector('button') as Element);
    expect(told()).toEqual(['type textbox "Name" Ada', 'click button "Save"']);
  });

  it('in rich text is that of the whole editor', () => {
    const editor = put('<div contenteditable="true" aria-label="Post"></div>', 'div');
    type(editor, 'Hello');
    actions.flush();
    expect(told()).toEqual(['type textbox "Post" Hello']);
  });

  it('is cut at 200 characters', () => {
    const area = put('<textarea aria-label="Story"></textarea>', 'textarea');
    type(area, 'x'.repeat(5000));
    actions.flush();
    expect(events[0]?.value).toHaveLength(200);
  });

  it('a new line in a field of several lines goes on', () => {
    const area = put('<textarea aria-label="Note"></textarea>', 'textarea');
    type(area, 'one');
    press(area, 'Enter');
    type(area, '\n', 'insertLineBreak');
    type(area, 'two');
    vi.advanceTimersByTime(1000);
    expect(told()).toEqual(['type textbox "Note" one two']);
  });

  it('that Enter sends is told as it was before the page emptied the field', () => {
    const area = put<HTMLTextAreaElement>('<textarea aria-label="Message"></textarea>', 'textarea');
    area.addEventListener('keydown', (event) => {
      event.preventDefault();
      area.value = '';
    });
    type(area, 'hi there');
    press(area, 'Enter');
    vi.advanceTimersByTime(200);
    expect(told()).toEqual(['type textbox "Message" hi there', 'key textbox "Message" Enter']);
  });
});

describe('secrets', () => {
  it.each(['<input type="password" aria-label="Password">', '<input aria-label="Card number">'])(
    'in %s never leave the page',
    (html) => {
      const input = put(html, 'input');
      for (const letter of 'hunter2') type(input, letter);
      actions.flush();
      expect(events[0]).toMatchObject({ action: 'type', value: '[masked]', masked: 1 });
      expect(JSON.stringify(events)).not.toMatch(/hunter|\b7\b/);
    },
  );

  it('stay masked after the field shows them', () => {
    const input = put<HTMLInputElement>('<input type="password" aria-label="Phrase">', 'input');
    type(input, 'abc');
    actions.flush();
    input.type = 'text';
    type(input, 'def');
    actions.flush();
    expect(told()).toEqual(['type textbox "Phrase" [masked]', 'type textbox "Phrase" [masked]']);
  });

  it('typed with Alt are not told as keys', () => {
    press(put('<input type="password" aria-label="Password">', 'input'), '@', { altKey: true });
    expect(told()).toEqual([]);
  });
});

describe('choices', () => {
  it('of a list are told by their captions', () => {
    const select = put<HTMLSelectElement>(
      '<select aria-label="Size"><option value="s">Small<option value="l">Large</select>',
      'select',
    );
    select.value = 'l';
    click(select);
    fire(select, new Event('change', { bubbles: true }));
    expect(told()).toEqual(['select combobox "Size" Large']);
  });

  it('of a checkbox are told once, not as a click too', () => {
    const box = put<HTMLInputElement>('<label><input type="checkbox">Agree</label>', 'input');
    click(box); // the browser checks it and fires change by itself
    vi.advanceTimersByTime(100);
    expect(told()).toEqual(['select checkbox "Agree" checked']);
  });

  it('by a script are not told', () => {
    const box = put<HTMLInputElement>('<input type="checkbox" aria-label="Agree">', 'input');
    const event = new MouseEvent('click', { bubbles: true, cancelable: true });
    scripted.add(event);
    fire(box, event);
    vi.advanceTimersByTime(100);
    expect(told()).toEqual([]);
  });

  it('a checkbox whose click the page prevents is told as a click', () => {
    const box = put<HTMLInputElement>('<input type="checkbox" aria-label="Agree">', 'input');
    box.addEventListener('click', (event) => event.preventDefault());
    click(box);
    vi.advanceTimersByTime(100);
    expect(told()).toEqual(['click checkbox "Agree"']);
  });

  it('made by degrees are told by their end', () => {
    const slider = put<HTMLInputElement>('<input type="range" aria-label="Volume">', 'input');
    for (const value of ['10', '20', '30']) {
      slider.value = value;
      fire(slider, new Event('change', { bubbles: true }));
      vi.advanceTimersByTime(300);
    }
    vi.advanceTimersByTime(1000);
    expect(told()).toEqual(['select slider "Volume" 30']);
  });

  it('inside shadow roots are seen, though change does not leave them', () => {
    const host = put('<x-field></x-field>', 'x-field');
    const root = host.attachShadow({ mode: 'open' });
    root.innerHTML = '<select aria-label="Colour"><option>Red</option></select>';
    const select = root.querySelector('select') as HTMLSelectElement;
    fire(select, new FocusEvent('focusin', { bubbles: true, composed: true }));
    fire(select, new Event('change', { bubbles: true }));
    expect(told()).toEqual(['select combobox "Colour" Red']);
  });
});

describe('submits', () => {
  it('without anybody at the keyboard are not told', () => {
    fire(put('<form></form>', 'form'), new Event('submit', { bubbles: true }));
    expect(told()).toEqual([]);
  });

  it('end typing', () => {
    const input = put('<form id="login"><input aria-label="User"></form>', 'input');
    press(input, 'a');
    type(input, 'ada');
    fire(document.querySelector('form') as Element, new Event('submit', { bubbles: true }));
    expect(told()).toEqual(['type textbox "User" ada', 'submit #login']);
  });
});

describe('keys', () => {
  it.each([
    ['Escape', {}, 'Escape'],
    ['s', { ctrlKey: true }, 'Control+S'],
    ['K', { metaKey: true, shiftKey: true }, 'Meta+Shift+K'],
  ])('%s %o is told', (key, init, value) => {
    document.body.innerHTML = '<p>x</p>';
    press(document.body, key, init);
    expect(told()).toEqual([`key page ${value}`]);
  });

  it.each([
    ['Tab', {}],
    ['a', {}],
    ['ArrowDown', {}],
    ['Shift', { shiftKey: true }],
    ['Control', { ctrlKey: true }],
    ['Escape', { repeat: true }],
  ])('%s %o is not', (key, init) => {
    press(document.body, key, init);
    expect(told()).toEqual([]);
  });

  it('that edit are part of typing', () => {
    press(put('<input aria-label="Name">', 'input'), 'v', { ctrlKey: true });
    expect(told()).toEqual([]);
  });
});
