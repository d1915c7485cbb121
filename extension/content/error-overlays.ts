import { attribute, first, shadowRootOf, tagOf } from './dom';
import { readText } from './text';

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

/** Places in a stack as an overlay shows it: src/routes/index.tsx:18:34. */
const PLACES = /[^\s()]+:\d+:\d+/g;

/** How Babel names a file and a place in it: /src/App.jsx: Unexpected token (24:6). */
const BABEL = /(?:^|\s)(\S+\.\w+): [\s\S]*?\((\d+:\d+)\)/;

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
 * Reads an overlay: the message, and the file that it names, or the place that the message names, or the first place of its stack
 * that is no package's.
 */
function readVite(root: Node, parts: Parts, max: number): string {
  const text = readParts(root, [parts.message], max);
  if (text === '') return '';
  const named = readParts(root, [parts.file], max);
  const [said, path, at] = named === '' ? (BABEL.exec(text) ?? []) : [];
  if (said !== undefined) return `${said.replace(`${path}: `, '').trim()} – ${path}:${at}`; // without the code around it
  const file = named || ownPlace(readParts(root, [parts.stack], max));
  return file === '' ? text : `${text} – ${file}`;
}

function ownPlace(stack: string): string {
  return stack.match(PLACES)?.find((place) => !/node_modules|\/@/.test(place)) ?? '';
}

/** Reads a frame that the server's client filled by script. */
function readFrame(element: Element, max: number): string | null {
  const body = (element as HTMLIFrameElement).contentDocument?.body;
  if (body == null) return null;
  const text = readText(body, max, { buttons: false });
  return text === '' ? null : text;
}

/** Reads the frame of React Refresh for webpack, without its count of errors. */
function readRefresh(element: Element, max: number): string | null {
  return readFrame(element, max)?.replace(/^Error \d+ of \d+\s*/, '') ?? null;
}

function readShadow(element: Element, max: number): string | null {
  const text = readText(element, max, { buttons: false });
  return text === '' ? null : text;
}

/** By the element's local name, or `#id`. Next.js's is always there: it also holds its menu. */
const OVERLAYS: Readonly<Record<string, Overlay>> = {
  'vite-error-overlay': {
    selector: 'vite-error-overlay',
    read: (element, max) => {
      const root = shadowRootOf(element);
      return (
        (root !== null && (readVite(root, VITE, max) || readVite(root, ASTRO, max))) ||
        readShadow(element, max)
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
      return (
        readParts(
          dialog,
          [
            '[id^=nextjs__container_errors_label], [class*=errors_label]',
            '[id^=nextjs__container_errors_desc], [class*=errors_desc]',
          ],
          max,
        ) || readText(dialog, max, { buttons: false })
      );
    },
  },
  '#webpack-dev-server-client-overlay': { selector: '#webpack-dev-server-client-overlay', read: readFrame },
  '#rspack-dev-server-client-overlay': { selector: '#rspack-dev-server-client-overlay', read: readFrame },
  '#react-refresh-overlay': { selector: '#react-refresh-overlay', read: readRefresh },
  'rsbuild-error-overlay': { selector: 'rsbuild-error-overlay', read: readShadow },
  'parcel-error-overlay': { selector: 'parcel-error-overlay', read: readShadow },
  '#__parcel__error__overlay__': { selector: '#__parcel__error__overlay__', read: readShadow },
  'nuxt-error-overlay': { selector: 'nuxt-error-overlay', read: readShadow },
};

/** The overlay that the element is, if it is one. */
export function overlayOf(element: Element): Overlay | undefined {
  // Own properties only: an element may be called `constructor`.
  const tag = tagOf(element);
  const key = tag.includes('-') ? tag : `#${attribute(element, 'id')}`;
  return Object.hasOwn(OVERLAYS, key) ? OVERLAYS[key] : undefined;
}
