// @vitest-environment happy-dom
import { afterEach, expect, describe as group, it } from 'vitest';
import { actedOn, describe } from './target';

afterEach(() => {
  document.body.innerHTML = '';
});

function put(html: string, selector: string): Element {
  document.body.innerHTML = html;
  const found = document.querySelector(selector);
  if (found === null) throw new Error(`no ${selector}`);
  return found;
}

it('a tag that a page chose as words is none', () => {
  const forged = document.createElement('x\u3000"pay"\u3000[e3]');
  forged.textContent = 'Text';
  document.body.append(forged);
  expect(describe(forged)).toEqual({ target: '* "Text"', selector: '*' });
});

group('describe', () => {
  it.each([
    ['<button>Add to cart</button>', 'button', 'button "Add to cart"'],
    ['<button><svg><title>Close</title></svg></button>', 'button', 'button "Close"'],
    ['<button aria-label="Close dialog">×</button>', 'button', 'button "Close dialog"'],
    ['<label for="e">Email</label><input id="e" type="email">', 'input', 'textbox "Email"'],
    ['<label>Notes <textarea>private words</textarea></label>', 'textarea', 'textbox "Notes"'],
    ['<input placeholder="Search">', 'input', 'textbox "Search"'],
    ['<input type="submit" value="Send">', 'input', 'button "Send"'],
    ['<input type="submit">', 'input', 'button "Submit"'],
    [
      '<span id="n">Quantity</span><input type="number" aria-labelledby="n">',
      'input',
      'spinbutton "Quantity"',
    ],
    ['<label><input type="checkbox"> I agree</label>', 'input', 'checkbox "I agree"'],
    ['<label>Size<select><option>Small<option>Large</select></label>', 'select', 'combobox "Size"'],
    ['<a href="/x"><img alt="Home"></a>', 'a', 'link "Home"'],
    ['<div role="tab">Details</div>', '[role]', 'tab "Details"'],
    [
      '<div role="textbox" contenteditable aria-label="Message">my words</div>',
      '[role]',
      'textbox "Message"',
    ],
    ['<form aria-label="Sign in"></form>', 'form', 'form "Sign in"'],
    ['<button>Say "hi"</button>', 'button', `button "Say 'hi'"`],
    ['<div data-testid="row-menu"><i></i></div>', 'div', '[data-testid="row-menu"]'],
    ['<div class="card">Blue shirt</div>', 'div', 'div "Blue shirt"'],
    ['<main><div class="card"><i></i></div></main>', 'div', 'main > div.card'],
    ['<p id="total"></p>', 'p', '#total'],
  ])('%s', (html, selector, target) => {
    expect(describe(put(html, selector)).target).toBe(target);
  });

  it('never tells what was typed into rich text', () => {
    const editor = put('<div contenteditable="true">my diary</div>', 'div');
    expect(describe(editor).target).not.toContain('diary');
  });

  it('tells siblings apart by position only where nothing else does', () => {
    expect(describe(put('<ul><li><i></i></li><li class="x"><b></b></li></ul>', 'b')).selector).toBe(
      'ul > li.x > b',
    );
    expect(describe(put('<p><i></i><i id="" data-n="2"></i></p>', '[data-n]')).selector).toBe(
      'p > i:nth-of-type(2)',
    );
  });

  it.each(['radix-:r1:', 'mui-4821', 'css-1x2y3z', 'input-839204'])(
    'does not build on the made-up id %s',
    (id) => {
      const element = put('<p><input name="q"></p>', 'input');
      element.id = id;
      expect(describe(element).selector).toBe('input[name="q"]');
    },
  );
});

group('actedOn', () => {
  it('finds the button around an icon', () => {
    const icon = put('<div><button><svg><path/></svg></button></div>', 'path');
    const path = [];
    for (let at: Element | null = icon; at !== null; at = at.parentElement) path.push(at);
    expect(actedOn(path)?.localName).toBe('button');
  });

  it('takes the innermost element where nothing is interactive', () => {
    const inner = put('<div><p><b>x</b></p></div>', 'b');
    expect(actedOn([inner, inner.parentElement as Element, document.body, window])).toBe(inner);
  });
});
