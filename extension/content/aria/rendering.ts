/** What only the browser knows, once style sheets are applied and what a page refers to has been loaded. */
import { all, attribute, closest, firstChildOf, has, rootOf, tagOf } from '../dom';

const { checkVisibility } = Element.prototype;
const VISIBLE = { visibilityProperty: true };

/** Whether the browser shows an element, whoever hears the page. */
export function isPlainlyShown(element: Element): boolean {
  return checkVisibility.call(element, VISIBLE);
}

/** Whether the browser renders an element, seen or not. */
export function hasBox(element: Element): boolean {
  return checkVisibility.call(element);
}

/** The shadow root of an element, open or closed. */
export function shadowOf(element: Element): ShadowRoot | null {
  const dom = (
    globalThis as { chrome?: { dom?: { openOrClosedShadowRoot?(of: Element): ShadowRoot | null } } }
  ).chrome?.dom;
  // Asked of elements that can have none, it would throw.
  if (dom?.openOrClosedShadowRoot === undefined || !(element instanceof HTMLElement))
    return element.shadowRoot;
  return dom.openOrClosedShadowRoot(element);
}

/** The image of which an element is an area: the first that is shown and uses its map. */
export function imageOf(area: Element): Element | undefined {
  const map = tagOf(area) === 'area' ? closest(area, 'map') : null;
  const name = map === null ? '' : attribute(map, 'name');
  if (map === null || name === '') return undefined;
  for (const image of all(rootOf(map), 'img[usemap]'))
    if (attribute(image, 'usemap') === `#${name}` && isPlainlyShown(image)) return image;
  return undefined;
}

/** Whether an element has lines of its own. */
export function isBlock(tag: string, { display }: CSSStyleDeclaration): boolean {
  return !/^(?:inline|contents|math|block math)/.test(display) || tag === 'br';
}

/** Whether the pointer on an element is the hand that says that it can be clicked. */
export function isPointed({ cursor }: CSSStyleDeclaration): boolean {
  return cursor === 'pointer';
}

/** Whether a pointer hits what is behind an element. */
export function isUnhit({ pointerEvents }: CSSStyleDeclaration): boolean {
  return pointerEvents === 'none';
}

/** True where what an element says is hidden and it is not: closed details, contents that a style hides. */
export function hidesContent(
  element: Element,
  tag: string,
  { contentVisibility }: CSSStyleDeclaration,
): boolean {
  if (contentVisibility === 'hidden') return true;
  if (tag === 'details') return !has(element, 'open');
  return tag === 'object' && !showsFallback(element);
}

/** Whether an `object` shows what it contains, because there is nothing else that it could show. */
export function showsFallback(element: Element): boolean {
  if (firstChildOf(element) === null) return false;
  const range = document.createRange();
  range.selectNodeContents(element);
  return range.getClientRects().length > 0;
}

/** Where style sheets write text: before and after what an element contains. */
export const PSEUDOS = [
  [0, '::before'],
  [1, '::after'],
] as const;

/**
 * The text that style sheets write into an element's `::before` or `::after`: strings and attributes;
 * what only counts or draws is no text. An alternative text (after a slash) wins, as it does for those
 * who hear the page.
 */
export function generatedText(element: Element, pseudo: '::before' | '::after'): string {
  const style = getComputedStyle(element, pseudo);
  const { content } = style;
  if (content === 'none' || content === 'normal' || content === '') return '';
  if (style.display === 'none' || style.visibility !== 'visible') return '';
  let text = '';
  for (const [token, attr] of content.matchAll(CONTENT)) {
    if (token === '/') text = '';
    else if (attr !== undefined) text += attribute(element, attr);
    else if (token.startsWith('"')) text += unquoted(token);
  }
  return text;
}

/** Attributes, other functions with what they are given, strings, and what precedes an alternative text. */
const CONTENT = /attr\(\s*([\w-]+)[^)]*\)|[\w-]+\((?:[^()"]|"(?:[^"\\]|\\.)*")*\)|"(?:[^"\\]|\\.)*"|\//gs;

/** A CSS string's text: only quotes and backslashes are escaped in computed values. */
function unquoted(token: string): string {
  return token.slice(1, -1).replace(/\\(["\\])/g, '$1');
}
