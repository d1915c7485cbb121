import { accessibleName, roleOf } from './accessible-name';
import { attribute, has, hasAddress, isElement, tagOf } from './dom';
import { selectorOf, tagIn, testIdSelector } from './selector';
import { isEditingHost, readText } from './text';

/** How an action names what it was done to. */
export interface Target {
  /** For a reader: `button "Add to cart"`, or a test id, a short text, a short CSS path. */
  target: string;
  /** A selector that finds the element again. */
  selector: string;
}

const MAX_TEXT = 60;

/** Names an element for the record of actions. */
export function describe(element: Element): Target {
  const selector = selectorOf(element);
  if (/^(?:body|html)$/.test(tagOf(element))) return { target: 'page', selector };
  const role = roleOf(element);
  const name = accessibleName(element, role);
  if (role !== '' && name !== '') return { target: `${role} "${quotable(name)}"`, selector };
  const testId = testIdSelector(element);
  if (testId !== '') return { target: testId, selector };
  if (role === '' && !isEditingHost(element)) {
    const text = name || readText(element, MAX_TEXT + 1, { images: true });
    // A long text is that of a region, not of the thing that was clicked.
    if (text !== '' && text.length <= MAX_TEXT) {
      return { target: `${tagIn(element)} "${quotable(text)}"`, selector };
    }
  }
  return { target: selector, selector };
}

const INTERACTIVE_TAGS = new Set(
  'a area button input select textarea option summary label video audio'.split(' '),
);

const INTERACTIVE_ROLES = new Set(
  (
    'button link menuitem menuitemcheckbox menuitemradio option tab treeitem checkbox radio switch slider ' +
    'spinbutton combobox textbox searchbox gridcell'
  ).split(' '),
);

/**
 * The element that a person would say they acted on: of an event's path, the innermost one that
 * takes part in interaction (the button around an icon), else the innermost element.
 */
export function actedOn(path: readonly EventTarget[]): Element | null {
  let innermost: Element | null = null;
  for (const node of path) {
    if (!isElement(node)) continue;
    innermost ??= node;
    if (/^(?:body|html)$/.test(tagOf(node))) break;
    if (isInteractive(node)) return node;
  }
  return innermost;
}

function isInteractive(element: Element): boolean {
  if (INTERACTIVE_TAGS.has(tagOf(element))) return tagOf(element) !== 'a' || hasAddress(element);
  if (INTERACTIVE_ROLES.has(attribute(element, 'role'))) return true;
  return has(element, 'onclick') || testIdSelector(element) !== '' || isEditingHost(element);
}

function quotable(text: string): string {
  return text.replaceAll('"', "'");
}
