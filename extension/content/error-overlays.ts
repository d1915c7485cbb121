import { attribute, first, shadowRootOf, tagOf } from './dom';
import { fold, readText } from './text';

/** An overlay by which a development server shows that the page is broken. */
interface Overlay {
  readonly selector: string;
  /**
   * The overlay's message; "" when it shows none now (some stay on the page all the time), null
   * when it cannot be read yet.
   */
  read(element: Element, max: number): string | null;
}

/** Reads the first element that matches each selector, and joins what was found. */
function readParts(root: Node, selectors: readonly string[], max: number): string {
  const texts = selectors.map((selector) => {
    const found = first(root, selector);
    return found === null ? '' : readText(found, max);
  });
  return texts.filter((text) => text !== '').join(' – ');
}

/** The lengths in which a place is looked for, and which it has at most, in UTF-16 units. */
const MAX_READ = 1000;
const MAX_PLACE = 160;

const FILE = String.raw`[^\s()[\]'"]+\.\w+`;

/**
 * How servers name a file and a place in it: src/routes/index.tsx:18:34, ./src/App.jsx (24:12), src/App.tsx(24,12), as Vue and
 * css-loader do (24:6) /src/App.vue, as Babel does /src/App.jsx: Unexpected token (24:6), and as webpack does ./src/App.jsx
 * 10:0-37, which is a place in what loaders made of it.
 */
const PLACES: readonly { readonly form: RegExp; readonly generated?: boolean }[] = [
  { form: new RegExp(String.raw`(?<file>${FILE}):(?<line>\d+):(?<column>\d+)`, 'g') },
  { form: new RegExp(String.raw`(?<file>${FILE}) ?\((?<line>\d+)[:,](?<column>\d+)\)`, 'g') },
  { form: new RegExp(String.raw`\((?<line>\d+):(?<column>\d+)\) (?=\S*[/\\])(?<file>${FILE})`, 'g') },
  { form: new RegExp(String.raw`(?:^|\s)(?<file>${FILE}): [\s\S]*?\((?<line>\d+):(?<column>\d+)\)`, 'g') },
  {
    form: new RegExp(String.raw`(?<file>${FILE}) (?<line>\d+):(?<column>\d+)-\d+`, 'g'),
    generated: true,
  },
];

/** Code of packages and of the server, and what the page loaded, which is no file of the project. */
const FOREIGN = /node_modules|\/@|^(?:https?|webpack-internal):/;

/** The first place in a text that is in the project's code; "" where there is none. */
function placeIn(text: string): string {
  for (const { form, generated } of PLACES) {
    for (const { groups: { file = '', line, column } = {} } of text.matchAll(form)) {
      if (!FOREIGN.test(file)) return `${file}:${line}:${column}${generated === true ? ' (generated)' : ''}`;
    }
  }
  return '';
}

/** What an overlay's text has after its message: the code around the place, or how to close the overlay. */
const REST = /(?:\s*╭─|\s*Click outside, press Esc|(?<=\(\d+:\d+\).*)\s+>?\s*\d+ \|)[\s\S]*$/;

/** The file that stands behind its place in a message. */
const BEHIND = new RegExp(String.raw`(?<=\(\d+:\d+\)) (?=\S*[/\\])${FILE}(?=\s|$)`);

/** The loaders that webpack names: those that a file went through, and the one that failed. */
const LOADERS = / \((?:[^()\s]*![^()\s]*|from [^()\s]*node_modules[^()\s]*)\)/g;

/** The line that the code around a place marks from below: 7 | const a = = b | ^ */
const MARKED = /(?:^|\s)(\d+) \|(?:(?!\s\d+ \|)[\s\S])*?\s\|\s+\^/;

/** A message and the place that it is about, which the host finds behind the last dash. A long message is cut, its place is not. */
function withPlace(message: string, place: string, max: number): string {
  const text = message.replace(REST, '').replace(BEHIND, '');
  if (text === '' || place === '') return fold(text, max);
  const tail = ` – ${place.slice(-MAX_PLACE)}`;
  return fold(text, max - tail.length) + tail;
}

/** The parts of an overlay: its message, the file that it names, and its stack. */
interface Parts {
  readonly message: string;
  readonly file: string;
  readonly stack: string;
}

/** Vite's overlay, and Astro's, which has the same element. */
const VITE: Parts = { message: '.message', file: '.file', stack: '.stack' };
const ASTRO: Parts = { message: '#message-content', file: '#code header h2', stack: '#stack-content' };

/**
 * Vue counts the lines of a script from where its block begins. The code in its message has those of the file: two before and two
 * after the one that it marks, of which Vite keeps the last line where it shows code of its own.
 */
function ofBlock(text: string, place: string): string {
  if (!text.includes('[vue/compiler-sfc]')) return place;
  const after = /\(\d+:\d+\) \S+ (\d+) \|/.exec(text)?.[1];
  const line = MARKED.exec(text)?.[1] ?? (after === undefined ? undefined : String(Number(after) - 2));
  return line === undefined ? place : place.replace(/:\d+(?=:\d+$)/, `:${line}`);
}

/**
 * Reads an overlay: the message, and the file that it names, or the place that the message names, or the first place of its stack
 * that is no package's.
 */
function readVite(root: Node, parts: Parts, max: number): string {
  const text = readParts(root, [parts.message], MAX_READ);
  const named = readParts(root, [parts.file], MAX_PLACE).replace(/^unknown file.*/, '');
  const said = placeIn(text);
  const babel = /\((\d+:\d+)\)/.exec(text)?.[1] ?? '';
  const [, at = babel] = /:(\d+:\d+)$/.exec(said) ?? [];
  let place = named;
  if (named === '') place = said || placeIn(readParts(root, [parts.stack], MAX_READ));
  else if (at !== '' && !/:\d+$/.test(named)) place = `${named}:${at}`; // the file alone is named
  place = ofBlock(text, place);
  const file = place.replace(/:\d+:\d+$/, '');
  const message = file === '' ? text : text.replace(`${file}: `, ''); // it is named behind the message
  return withPlace(message.trim(), place, max);
}

/** Reads a frame that the server's client filled by script. */
function readFrame(element: Element, max: number): string | null {
  const body = (element as HTMLIFrameElement).contentDocument?.body;
  if (body == null) return null;
  return readWhole(body, max);
}

/** Reads the frame of React Refresh for webpack, without its count of errors. The stack in it has places in what webpack made. */
function readRefresh(element: Element, max: number): string | null {
  const body = (element as HTMLIFrameElement).contentDocument?.body;
  if (body == null) return null;
  const text = partOf(body).replace(/^Error \d+ of \d+\s*/, '');
  if (text === '') return null;
  const [said = ''] = text.split(' Call Stack ');
  const ran = placeIn(text);
  return withPlace(text, placeIn(said) || (ran && `${ran.replace(/ \(generated\)$/, '')} (generated)`), max);
}

function partOf(element: Element): string {
  return readText(element, MAX_READ, { buttons: false }).replace(LOADERS, '');
}

function readWhole(element: Element, max: number): string | null {
  const text = partOf(element);
  return text === '' ? null : withPlace(text, placeIn(text), max);
}

/** By the element's local name, or `#id`. Next.js's is always there: it also holds its menu. */
const OVERLAYS: Readonly<Record<string, Overlay>> = {
  'vite-error-overlay': {
    selector: 'vite-error-overlay',
    read: (element, max) => {
      const root = shadowRootOf(element);
      return (
        (root !== null && (readVite(root, VITE, max) || readVite(root, ASTRO, max))) ||
        readWhole(element, max)
      );
    },
  },
  'nextjs-portal': {
    selector: 'nextjs-portal',
    read: (element, max) => {
      const root = shadowRootOf(element);
      if (root === null) return null;
      const dialog = first(
        root,

        '[data-nextjs-dialog], [data-nextjs-dialog-overlay], [role=dialog][aria-labelledby*=nextjs]',
      );
      if (dialog === null) {
        const toast = first(root, '[data-nextjs-toast-errors], [data-nextjs-toast][data-issues-open=true]');
        return toast === null ? '' : readText(toast, max, { buttons: false });
      }
      const message = readParts(
        dialog,
        [
          '[id^=nextjs__container_errors_label], [class*=errors_label]',
          '[id^=nextjs__container_errors_desc], [class*=errors_desc]',
        ],
        max,
      );
      const code = '.code-frame-header [data-text], [data-nextjs-codeframe], [data-nextjs-terminal]';
      if (message !== '') return withPlace(message, placeIn(readParts(dialog, [code], MAX_READ)), max);
      return readWhole(dialog, max);
    },
  },
  '#webpack-dev-server-client-overlay': { selector: '#webpack-dev-server-client-overlay', read: readFrame },
  '#rspack-dev-server-client-overlay': { selector: '#rspack-dev-server-client-overlay', read: readFrame },
  '#react-refresh-overlay': { selector: '#react-refresh-overlay', read: readRefresh },
  'rsbuild-error-overlay': { selector: 'rsbuild-error-overlay', read: readWhole },
  'parcel-error-overlay': { selector: 'parcel-error-overlay', read: readWhole },
  '#__parcel__error__overlay__': { selector: '#__parcel__error__overlay__', read: readWhole },
  'nuxt-error-overlay': { selector: 'nuxt-error-overlay', read: readWhole },
};

/** The overlay that the element is, if it is one. */
export function overlayOf(element: Element): Overlay | undefined {
  // Own properties only: an element may be called `constructor`.
  const tag = tagOf(element);
  const key = tag.includes('-') ? tag : `#${attribute(element, 'id')}`;
  return Object.hasOwn(OVERLAYS, key) ? OVERLAYS[key] : undefined;
}
