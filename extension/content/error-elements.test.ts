// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContentEvent } from '../messages';
import { ErrorElements, MAX_ENTRIES } from './error-elements';
import { overlayOf } from './error-overlays';
import { MAX_TEXT } from './error-rules';

type ElementReport = Extract<ContentEvent, { kind: 'element' }>;

let ending: AbortController;
let events: ElementReport[];
let elements: ErrorElements;
let time: number;

beforeEach(() => {
  // What browsers' own style sheet says of hidden elements, and happy-dom's does not.
  document.head.innerHTML = '<style>[hidden] { display: none }</style>';
  ending = new AbortController();
  events = [];
  time = 1000;
  elements = new ErrorElements(document, {
    document: 'd1',
    emit: (batch) => events.push(...(batch as ElementReport[])),
    now: () => time,
    signal: ending.signal,
  });
});
afterEach(() => {
  ending.abort();
  document.head.innerHTML = '';
  document.body.innerHTML = '';
});

function add(html: string, parent: Node = document.body): HTMLElement {
  const template = document.createElement('template');
  template.innerHTML = html;
  const element = template.content.firstElementChild as HTMLElement;
  parent.appendChild(element);
  return element;
}

/** What was reported since the last call, one line each. */
function told(): string[] {
  elements.flush();
  return events.splice(0).map(({ op, selector, text }) => `${op} ${selector} ${text}`);
}

describe('an error element calls for attention', () => {
  it.each([
    ['<div class="error">Boom</div>', undefined],
    ['<div class="error" role="alert">Boom</div>', true],
    ['<div aria-live="assertive"><p class="error">Boom</p></div>', true],
    ['<div class="error"><p role="alert">Boom</p></div>', true],
    ['<li data-sonner-toast data-type="error">Upload failed</li>', undefined],
    ['<div><input aria-invalid="true" aria-describedby="d"><p id="d">Too short</p></div>', undefined],
    ['<div><input aria-invalid="true" aria-describedby="d"><p id="d" role="alert">No</p></div>', true],
  ])('%s: %s', (html, alert) => {
    elements.start(window);
    add(html);
    elements.flush();
    expect(events.map((event) => event.alert)).toEqual([alert]);
  });
});

describe('an error element', () => {
  it.each([
    ['<div class="error">Boom</div>', '.error Boom'],
    ['<div class="alert">Careful</div>', '.alert Careful'],
    ['<div role="alert">Could not save</div>', '[role=alert] Could not save'],
    ['<div class="error-banner" id="b1x">Down</div>', '#b1x Down'],
    ['<div class="alert alert-danger" data-testid="save-error">No</div>', '[data-testid="save-error"] No'],
    ['<div class="invalid-feedback">Too short</div>', '.invalid-feedback Too short'],
    [
      '<li data-sonner-toast data-type="error"><div>Upload failed</div><button>Undo</button></li>',
      '[data-sonner-toast] Upload failed',
    ],
    [
      '<div class="Toastify__toast Toastify__toast--error"><div role="alert">Nope</div></div>',
      '.Toastify__toast--error Nope',
    ],
    ['<div class="chakra-alert" data-status="error" role="alert">Broken</div>', '[role=alert] Broken'],
    ['<div class="toast show"><div class="toast-body">Request failed</div></div>', '.toast Request failed'],
    [
      '<div data-rht-toaster><div><div role="status">Could not connect</div></div></div>',
      '[role=status] Could not connect',
    ],
    [
      '<label>Email<input aria-invalid="true" name="email" value="secret@x.y"></label>',
      'input[name="email"] Email: invalid',
    ],
    [
      '<p><input aria-invalid="true" id="mail" aria-label="Email" aria-describedby="m"><i id="m" class="error">Required</i></p>',
      '#mail Email: Required',
    ],
    ['<div class="error">Failed <script>x()</script><b>twice</b></div>', '.error Failed twice'],
  ])('%s', (html, line) => {
    elements.start(window);
    add(html);
    expect(told()).toEqual([`appeared ${line}`]);
  });

  it('that was there before is reported on starting', () => {
    add('<div class="error">Old</div>');
    elements.start(window);
    expect(told()).toEqual(['appeared .error Old']);
  });

  it('is told with its text cut, and white space folded', () => {
    elements.start(window);
    add(`<div class="error">  a\n\n b ${'x'.repeat(900)}</div>`);
    elements.flush();
    expect(events[0]?.text).toHaveLength(300);
    expect(events[0]?.text).toMatch(/^a b x+…$/);
  });

  it('never tells what was typed', () => {
    elements.start(window);
    add(
      '<div class="error">Wrong <input value="4111"><textarea>my secret</textarea><p contenteditable>diary</p></div>',
    );
    expect(told()).toEqual(['appeared .error Wrong']);
  });

  it('that comes and goes between two looks is reported with both times', async () => {
    elements.start(window);
    const toast = add('<div role="alert">Gone in a blink</div>');
    await Promise.resolve();
    time = 1010;
    toast.remove();
    expect(told()).toEqual(['appeared [role=alert] Gone in a blink', 'gone [role=alert] Gone in a blink']);
  });

  it('that comes and goes in one go is reported too', () => {
    elements.start(window);
    add('<div><div class="error-toast">Blink</div></div>').remove();
    elements.flush();
    expect(events.map(({ op, at, id }) => ({ op, at, id }))).toEqual([
      { op: 'appeared', at: 1000, id: 1 },
      { op: 'gone', at: 1000, id: 1 },
    ]);
  });

  it('that goes with what holds it is gone', () => {
    elements.start(window);
    const section = add('<section><p class="error">Inner</p></section>');
    told();
    section.remove();
    expect(told()).toEqual(['gone .error Inner']);
  });

  it('that moves stays', () => {
    elements.start(window);
    const error = add('<p class="error">Here</p>');
    told();
    add('<section></section>').appendChild(error);
    expect(told()).toEqual([]);
  });

  it('that is replaced by its like in one go stays', () => {
    elements.start(window);
    const first = add('<p class="error">Same</p>');
    told();
    const second = document.createElement('p');
    second.className = 'error';
    second.textContent = 'Same';
    first.replaceWith(second);
    expect(told()).toEqual([]);
    second.remove();
    elements.flush();
    expect(events).toMatchObject([{ op: 'gone', id: 1 }]);
  });

  it('that changes its words has changed, and with its digits alone has not', () => {
    elements.start(window);
    const error = add('<p class="error">Retry in 5 s</p>');
    told();
    error.textContent = 'Retry in 4 s';
    expect(told()).toEqual([]);
    error.textContent = 'Gave up';
    expect(told()).toEqual(['changed .error Gave up']);
  });

  it('inside another one is not told twice', () => {
    elements.start(window);
    add('<div class="alert alert-danger"><p class="error-message" role="alert">Once</p></div>');
    expect(told()).toEqual(['appeared .alert-danger Once']);
  });

  it('stands for itself once the outer one is none any more', () => {
    elements.start(window);
    const outer = add('<div class="error"><p class="error-message">Inner</p></div>');
    told();
    outer.className = '';
    expect(told()).toEqual(['gone .error Inner', 'appeared .error-message Inner']);
  });
});

describe('what is no error element', () => {
  it.each([
    '<div class="alert alert-success">Saved</div>',
    '<div class="alert alert-info">Did you know?</div>',
    '<div role="alert">Saved successfully</div>',
    '<div role="alert"></div>',
    '<div role="alert">  <svg></svg></div>',
    '<div role="status">3 results</div>',
    '<div class="error" hidden>Later</div>',
    '<div style="display: none"><p class="error">Later</p></div>',
    '<p class="error" style="visibility:hidden">Later</p>',
    '<span class="error">*</span>',
    '<button class="error">Delete</button>',
    '<div class="Toastify__toast Toastify__toast--success"><div role="alert">Done</div></div>',
    '<li data-sonner-toast data-type="success">Error log saved</li>',
    '<div class="toast show">Note archived</div>',
    '<div data-rht-toaster><div><div role="status">Welcome back</div></div></div>',
    '<next-route-announcer><p id="__next-route-announcer__" role="alert">Error codes – Docs</p></next-route-announcer>',
    '<input class="ng-invalid">',
    '<input aria-invalid="false">',
    '<form class="ui form error"><label>Name</label></form>',
  ])('%s', (html) => {
    elements.start(window);
    add(html);
    expect(told()).toEqual([]);
  });
});

describe('an element that is there already', () => {
  it('counts from when it is shown until it is hidden', () => {
    elements.start(window);
    const error = add('<p class="error" hidden>No network</p>');
    expect(told()).toEqual([]);
    error.hidden = false;
    expect(told()).toEqual(['appeared .error No network']);
    error.style.display = 'none';
    expect(told()).toEqual(['gone .error No network']);
  });

  it('counts when what holds it is shown', () => {
    elements.start(window);
    const panel = add('<div style="display:none"><p class="error">Inside</p></div>');
    told();
    panel.removeAttribute('style');
    expect(told()).toEqual(['appeared .error Inside']);
  });

  it('counts when it gets a class, a role or an invalid state', () => {
    elements.start(window);
    const line = add('<p>Not good</p>');
    const input = add('<input aria-label="Name">');
    expect(told()).toEqual([]);
    line.className = 'error-message';
    input.setAttribute('aria-invalid', 'true');
    expect(told()).toEqual(['appeared .error-message Not good', 'appeared input Name: invalid']);
    input.removeAttribute('aria-invalid');
    expect(told()).toEqual(['gone input Name: invalid']);
  });

  it('as an empty live region counts when it speaks, and again when it speaks anew', () => {
    elements.start(window);
    const region = add('<div role="alert"></div>');
    expect(told()).toEqual([]);
    region.textContent = 'Offline';
    expect(told()).toEqual(['appeared [role=alert] Offline']);
    region.textContent = '';
    expect(told()).toEqual(['gone [role=alert] Offline']);
    region.append(document.createElement('p'));
    (region.firstChild as Element).textContent = 'Still offline';
    expect(told()).toEqual(['appeared [role=alert] Still offline']);
  });

  it('as a live region that spoke for a moment is heard', () => {
    elements.start(window);
    const region = add('<div role="alert"></div>');
    told();
    add('<p>Lost connection</p>', region).remove();
    expect(told()).toEqual(['appeared [role=alert] Lost connection', 'gone [role=alert] Lost connection']);
  });
});

describe('shadow roots', () => {
  it('are searched and watched', () => {
    elements.start(window);
    const host = document.createElement('x-app');
    const root = host.attachShadow({ mode: 'open' });
    root.innerHTML = '<p class="error">First</p>';
    document.body.appendChild(host);
    expect(told()).toEqual(['appeared .error First']);
    add('<p class="error-message">Second</p>', root);
    expect(told()).toEqual(['appeared .error-message Second']);
  });

  it('that come after their host are found', () => {
    elements.start(window);
    const host = add('<x-late></x-late>');
    told();
    host.attachShadow({ mode: 'open' }).innerHTML = '<p class="error">Late</p>';
    expect(told()).toEqual(['appeared .error Late']);
  });
});

describe('overlays of development servers', () => {
  it('of Vite are told by message and file', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<div class="backdrop"><pre class="message"><span>[plugin:vite:css]</span> Unknown word</pre>' +
      '<pre class="file">/src/app.css:3:1</pre><pre class="frame error">code</pre></div>';
    document.body.appendChild(overlay);
    expect(told()).toEqual(['appeared vite-error-overlay [plugin:vite:css] Unknown word – /src/app.css:3:1']);
    overlay.remove();
    expect(told()).toEqual(['gone vite-error-overlay [plugin:vite:css] Unknown word – /src/app.css:3:1']);
  });

  it('of Vite without a file are told by the first place of their stack that is no package’s', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<pre class="message">x is undefined</pre><pre class="file"></pre><pre class="frame"></pre><pre class="stack">' +
      'TypeError: x is undefined\n    at run (/app/node_modules/lib/index.js:1:2)\n' +
      '    at onClick (<a>/app/src/routes/index.tsx:18:34</a>)\n    at main (/app/src/main.ts:1:1)</pre>';
    document.body.appendChild(overlay);
    expect(told()).toEqual(['appeared vite-error-overlay x is undefined – /app/src/routes/index.tsx:18:34']);
  });

  it('of Vite whose file has no line have the line of the message', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<pre class="message">[plugin:vite:react] Unexpected token (3:7)\n  1 | x</pre><pre class="file">/src/app.tsx</pre>';
    document.body.appendChild(overlay);
    expect(told()).toEqual([
      'appeared vite-error-overlay [plugin:vite:react] Unexpected token (3:7) – /src/app.tsx:3:7',
    ]);
    overlay.remove();
    told();
    const other = document.createElement('vite-error-overlay');
    other.attachShadow({ mode: 'open' }).innerHTML =
      '<pre class="message">Expected a closing tag.\n  ╭─[ src/App.jsx:24:9 ]</pre><pre class="file">/app/src/App.jsx</pre>';
    document.body.appendChild(other);
    expect(told()).toEqual(['appeared vite-error-overlay Expected a closing tag. – /app/src/App.jsx:24:9']);
  });

  it('of Vite without a place are told by their whole message', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<pre class="message">Error: the plugin failed at (3:7), which is no place of a file</pre><pre class="file"></pre>';
    document.body.appendChild(overlay);
    expect(told()).toEqual([
      'appeared vite-error-overlay Error: the plugin failed at (3:7), which is no place of a file',
    ]);
  });

  it('of Astro, which have the same element, are told by message and file', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    const root = overlay.attachShadow({ mode: 'open' });
    root.innerHTML =
      '<label>Use dark theme</label><h2 id="name">Error</h2><h1 id="title">An error occurred.</h1>' +
      '<div id="message-content">Cannot find <b>x</b></div>' +
      '<section id="code"><header><h2>src/App.jsx:4:2</h2><a>Open in editor</a></header></section><div id="stack-content">x</div>';
    document.body.appendChild(overlay);
    expect(told()).toEqual(['appeared vite-error-overlay Cannot find x – src/App.jsx:4:2']);
  });

  it('whose message names a place, as Babel does, are told by it', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<div id="message-content">/app/src/App.jsx: Unexpected token (24:6)\n\n  22 | (1:1)</div><section id="code"><header><h2></h2></header></section>' +
      '<div id="stack-content">at run (/app/node_modules/lib/index.js:1:2)</div>';
    document.body.appendChild(overlay);
    expect(told()).toEqual(['appeared vite-error-overlay Unexpected token (24:6) – /app/src/App.jsx:24:6']);
  });

  it.each([
    // The update: the whole code is in the message, and the file has no name.
    [
      '13 | \n14 |  function add() {\n15 |    counter.increment(]\n   |                      ^\n16 |  }\n17 |  </script>',
      'unknown file:15:20',
      '',
      15,
    ],
    // The page was loaded: Vite shows other code. The script begins in line 21.
    ['37 |  </script>', '/app/src/HomeView.vue:15:20', '14 |  const a = 1\n   |        ^', 35],
  ])('of Vue’s compiler have the line of the file (%#)', (code, file, frame, line) => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({ mode: 'open' }).innerHTML =
      '<pre class="message"><span>[plugin:vite:vue] </span>[vue/compiler-sfc] Unexpected token (15:20)\n\n/app/src/HomeView.vue\n' +
      `${code}</pre><pre class="file">${file}</pre><pre class="frame">${frame}</pre>`;
    document.body.appendChild(overlay);
    expect(told()).toEqual([
      `appeared vite-error-overlay [plugin:vite:vue] [vue/compiler-sfc] Unexpected token (15:20) – /app/src/HomeView.vue:${line}:20`,
    ]);
  });

  it('of webpack name no loaders, and the reason', () => {
    elements.start(window);
    const overlay = document.createElement('rsbuild-error-overlay');
    overlay.innerHTML =
      '<div>Compiled with problems:</div><div>ERROR in ./src/app.module.css (./node_modules/css-loader/dist/cjs.js??ruleSet[1].rules[1].use[1]!./src/app.module.css)</div>' +
      '<div>Module build failed (from ./node_modules/css-loader/dist/cjs.js):\n\nSyntaxError\n\n(2:18) /app/src/app.module.css Unexpected }\n\n' +
      '  1 | .title {\n&gt; 2 |   color: green; }}\n    |                  ^\n  3 | }</div>';
    document.body.appendChild(overlay);
    expect(told()).toEqual([
      'appeared rsbuild-error-overlay Compiled with problems: ERROR in ./src/app.module.css Module build failed: SyntaxError (2:18) Unexpected } – /app/src/app.module.css:2:18',
    ]);
    overlay.remove();
    told();
    const other = document.createElement('rsbuild-error-overlay');
    other.textContent =
      "ERROR in ./src/global.css (./node_modules/css-loader/dist/cjs.js!./src/global.css) 5:36-74 Module not found: Error: Can't resolve './nope.png'";
    document.body.appendChild(other);
    expect(told()).toEqual([
      "appeared rsbuild-error-overlay ERROR in ./src/global.css 5:36-74 Module not found: Error: Can't resolve './nope.png' – ./src/global.css:5:36 (generated)",
    ]);
  });

  it('with a long message keep its place, and leave out the code around it', () => {
    elements.start(window);
    const overlay = document.createElement('vite-error-overlay');
    overlay.attachShadow({
      mode: 'open',
    }).innerHTML = `<pre class="message">[plugin:vite:oxc] Expected ${'x '.repeat(200)}</pre><pre class="file">/app/src/App.jsx:24:9</pre>`;
    document.body.appendChild(overlay);
    const [line = ''] = told();
    expect(line).toMatch(/x … – \/app\/src\/App\.jsx:24:9$/);
    expect(line.length).toBe('appeared vite-error-overlay '.length + MAX_TEXT);
    overlay.remove();
    told();
    const other = document.createElement('vite-error-overlay');
    other.attachShadow({
      mode: 'open',
    }).innerHTML = `<pre class="message">Expected a closing tag.\n  ╭─[ src/App.jsx:24:9 ]\n  │\n 20 │ ${'<ul>'.repeat(90)}</pre>`;
    document.body.appendChild(other);
    expect(told()).toEqual(['appeared vite-error-overlay Expected a closing tag. – src/App.jsx:24:9']);
  });

  it.each([
    // webpack names a line of what its loaders made of the file.
    [
      "ERROR in ./src/App.jsx 10:0-37 Module not found: Can't resolve './Missing.jsx' in '/app/src' Click outside, press Esc, or fix the code to dismiss.",
      ' – ./src/App.jsx:10:0 (generated)',
    ],
    [
      'ERROR in ./src/App.jsx Module build failed: SyntaxError: /app/src/App.jsx: Unexpected token (24:6)',
      ' – /app/src/App.jsx:24:6',
    ],
    ["ERROR in src/App.tsx:3:5 TS2322: Type 'string' is not assignable", ' – src/App.tsx:3:5'],
    ['ERROR in /app/src/App.tsx(3,5): error TS2322: Type', ' – /app/src/App.tsx:3:5'],
    ['ERROR no items at items (http://127.0.0.1:3000/main.js:10:3)', ''],
    ['ERROR no items at items (webpack-internal:///./src/api.js:10:3)', ''],
  ])('of webpack that say %s have the place', (text, place) => {
    elements.start(window);
    const overlay = document.createElement('rsbuild-error-overlay');
    overlay.textContent = text;
    document.body.appendChild(overlay);
    const said = text.replace(/ Click outside.*/, '');
    expect(told()).toEqual([`appeared rsbuild-error-overlay ${said}${place}`]);
  });

  it.each([
    [
      'Error 1 of 2 no cart Call Stack eval src/cart.js:13:7 ./src/cart.js main.674f.hot-update.js:18:1',
      'no cart Call Stack eval src/cart.js:13:7 ./src/cart.js main.674f.hot-update.js:18:1 – src/cart.js:13:7 (generated)',
    ],
    [
      'Failed to compile ./src/App.jsx Unexpected token (24:6)',
      'Failed to compile ./src/App.jsx Unexpected token (24:6)',
    ],
    [
      'SyntaxError: /app/src/App.jsx: Unexpected token (24:6)',
      'SyntaxError: /app/src/App.jsx: Unexpected token (24:6) – /app/src/App.jsx:24:6',
    ],
  ])('of React Refresh for webpack name no line of generated code as one of a file: %s', (text, said) => {
    elements.start(window);
    const overlay = document.createElement('iframe');
    overlay.id = 'react-refresh-overlay';
    document.body.appendChild(overlay);
    overlay.contentDocument?.body.append(text);
    expect(overlayOf(overlay)?.read(overlay, MAX_TEXT)).toBe(said);
  });

  it('of Next.js have the place of the code that they show', () => {
    elements.start(window);
    const portal = document.createElement('nextjs-portal');
    portal.attachShadow({ mode: 'open' }).innerHTML =
      '<div data-nextjs-dialog><h1 id="nextjs__container_errors_label">Build Error</h1><p id="nextjs__container_errors_desc">Module not found</p>' +
      '<div data-nextjs-codeframe><div class="code-frame-header"><span data-text>./src/App.jsx (5:1)</span></div><pre>code</pre></div></div>';
    document.body.appendChild(portal);
    expect(told()).toEqual(['appeared nextjs-portal Build Error – Module not found – ./src/App.jsx:5:1']);
  });

  it('of Next.js count only while they show an error', () => {
    elements.start(window);
    const portal = document.createElement('nextjs-portal');
    const root = portal.attachShadow({ mode: 'open' });
    root.innerHTML = '<button data-nextjs-dev-tools-button>N</button>';
    document.body.appendChild(portal);
    expect(told()).toEqual([]);
    const dialog = add(
      '<div data-nextjs-dialog><h1 id="nextjs__container_errors_label">Runtime Error</h1>' +
        '<p id="nextjs__container_errors_desc" role="alert">x is not defined</p></div>',
      root,
    );
    expect(told()).toEqual(['appeared nextjs-portal Runtime Error – x is not defined']);
    dialog.remove();
    expect(told()).toEqual(['gone nextjs-portal Runtime Error – x is not defined']);
  });
});

describe('a page that does its worst', () => {
  it('with fields named like properties is read all the same', () => {
    elements.start(window);
    add(
      '<form class="f"><input name="parentElement"><input name="getAttribute"><input name="localName">' +
        '<input name="querySelectorAll"><p class="error">Still seen</p></form>',
    );
    expect(told()).toEqual(['appeared .error Still seen']);
  });

  it('with more error elements than are watched is told of', () => {
    elements.start(window);
    const many = '<p class="error">x</p>'.repeat(MAX_ENTRIES + 50);
    add(`<div>${many}</div>`);
    const lines = told();
    expect(lines).toHaveLength(MAX_ENTRIES + 1);
    expect(lines.filter((line) => line.startsWith('appeared * More than 1000'))).toHaveLength(1);
  });

  it('with 10,000 new nodes costs little', () => {
    elements.start(window);
    const rows = Array.from(
      { length: 2500 },
      (_, i) => `<li class="row p-4 flex"><b>${i}</b><i class="icon"></i><a>x</a></li>`,
    );
    const list = document.createElement('ul');
    list.innerHTML = rows.join('');
    const began = performance.now();
    document.body.appendChild(list);
    elements.flush();
    // happy-dom is some 20 times slower than a browser; this only catches work that is not linear.
    expect(performance.now() - began).toBeLessThan(3000);
    expect(events).toEqual([]);
  });
});

describe('starting and ending', () => {
  it('reports what is shown again to whoever asks', () => {
    elements.start(window);
    add('<p class="error">One</p>');
    add('<p class="error">Two</p>').remove();
    elements.flush();
    expect(elements.shown()).toMatchObject([
      { op: 'appeared', id: 1, at: 1000, document: 'd1', text: 'One' },
    ]);
  });

  it('after a stop says nothing, and then only what has come and gone, by their numbers', () => {
    elements.start(window);
    const gone = add('<p class="error">Zero</p>');
    add('<p class="error">One</p>');
    told();
    elements.stop();
    elements.stop();
    gone.remove();
    add('<p class="error">Two</p>');
    expect(told()).toEqual([]);
    elements.start(window);
    elements.flush();
    expect(events.map(({ op, id, text }) => `${op} ${id} ${text}`)).toEqual([
      'gone 1 Zero',
      'appeared 4 Two',
    ]);
    expect(elements.shown()).toMatchObject([{ id: 2 }, { id: 4 }]);
  });
});
