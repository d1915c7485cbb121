import { all, attribute, firstChildOf, isElement, nextSiblingOf, parentOf, rootOf, tagOf } from './dom';

/** Attributes by which people name elements for tests, the most common first. */
const TEST_IDS = ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'];

const MAX_LEVELS = 3;

/** The element's test id as an attribute selector, `[data-testid="save"]`, or "". */
export function testIdSelector(element: Element): string {
  for (const name of TEST_IDS) {
    const value = attribute(element, name);
    if (value !== '' && value.length <= 80) return `[${name}=${quote(value)}]`;
  }
  return '';
}

/**
 * A short selector that finds the element again after a reload: its id, its test id, `preferred`
 * (what the caller knows it by, such as `.error-banner`), its form name, else a path of at most three
 * levels. Positions are used only where nothing else tells it from others.
 */
export function selectorOf(element: Element, preferred = ''): string {
  const own = anchor(element);
  if (own !== '') return own;
  if (preferred !== '') return preferred;
  const tag = tagOf(element);
  const name = attribute(element, 'name');
  if (name !== '' && name.length <= 60 && isControl(tag)) return `${tag}[name=${quote(name)}]`;
  return path(element);
}

function anchor(element: Element): string {
  const id = attribute(element, 'id');
  if (isStable(id)) return `#${escapeName(id)}`;
  return testIdSelector(element);
}

function path(element: Element): string {
  const steps = [step(element)];
  let parent = parentOf(element);
  while (parent !== null && steps.length < MAX_LEVELS && !/^(?:body|html)$/.test(tagOf(parent))) {
    const known = anchor(parent);
    steps.unshift(known === '' ? step(parent) : known);
    if (known !== '') break;
    parent = parentOf(parent);
  }
  const plain = steps.join(' > ');
  if (isOnly(element, plain)) return plain;
  const position = positionOf(element);
  return position === 0 ? plain : `${plain}:nth-of-type(${position})`;
}

/** One level of a path: the tag and the first class that looks handwritten. */
function step(element: Element): string {
  for (const name of attribute(element, 'class').split(/\s+/)) {
    if (isStable(name) && !isUtility(name)) return `${tagIn(element)}.${escapeName(name)}`;
  }
  return tagIn(element);
}

/** An element's tag as selectors have it: that of any element, if the page chose a name that is no word. */
export function tagIn(element: Element): string {
  const tag = tagOf(element);
  return /^[\w-]+$/.test(tag) ? tag : '*';
}

function isOnly(element: Element, selector: string): boolean {
  return all(rootOf(element), selector).length <= 1;
}

/** Its position among siblings of its kind, from 1; 0 if there are none. */
function positionOf(element: Element): number {
  const parent = parentOf(element);
  if (parent === null) return 0;
  let count = 0;
  let position = 0;
  for (let node = firstChildOf(parent); node !== null; node = nextSiblingOf(node)) {
    if (!isElement(node) || tagOf(node) !== tagOf(element)) continue;
    count++;
    if (node === element) position = count;
  }
  return count > 1 ? position : 0;
}

/** False for names that tools generate at every build or render. */
function isStable(name: string): boolean {
  if (name === '' || name.length > 40 || !/^[A-Za-z_-][\w-]*$/.test(name)) return false;
  if (/\d{4,}|^(?:radix|headlessui|react-aria|mui|css|sc|jsx|go|svelte|emotion)-?[\w]*\d/i.test(name))
    return false;
  // The hash of CSS modules and the like: letters in both cases with digits, at the end.
  return !/(?:^|[_-])(?=[A-Za-z\d]*\d)(?=[A-Za-z\d]*[A-Za-z])[A-Za-z\d]{5,}$/.test(name);
}

/** True for classes that say how something looks, not what it is. */
function isUtility(name: string): boolean {
  return /^(?:-?[a-z]{1,3}-\w+|(?:flex|grid|block|hidden|inline|text|bg|border|rounded|items|justify|font|space|gap|shadow|col|row|min|max|absolute|relative|fixed|sticky|cursor|transition|overflow|ng|is|has)(?:-.*)?)$/.test(
    name,
  );
}

function isControl(tag: string): boolean {
  return tag === 'input' || tag === 'select' || tag === 'textarea' || tag === 'button' || tag === 'form';
}

function quote(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}

/** Names that pass isStable need escaping only at their beginning. */
function escapeName(name: string): string {
  return name
    .replace(/^(-?)(\d)/, (_, dash: string, digit: string) => `${dash}\\3${digit} `)
    .replace(/^-$/, '\\-');
}
