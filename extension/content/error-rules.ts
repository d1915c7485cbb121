import { accessibleName, referencedText, roleOf } from './accessible-name';
import { all, attribute, closest, first, has, hasAny, parentOf, rootOf, tagOf } from './dom';
import { readClasses } from './error-classes';
import { overlayOf } from './error-overlays';
import { selectorOf } from './selector';
import { fold, hiddenByMarkup, readText } from './text';

/** The maximum length of an error element's reported text, in UTF-16 units. */
export const MAX_TEXT = 300;

/**
 * What makes an element worth watching, before anybody looks whether it is shown and says something.
 * `null` for all others, at the cost of a few attribute reads.
 */
export type Candidate = 'overlay' | 'field' | 'error' | 'alert' | 'toast';

/** Elements that announce page changes to screen readers: never errors, whatever their role. */
const ANNOUNCERS =
  'next-route-announcer, #__next-route-announcer__, #gatsby-announcer, .cdk-live-announcer-element, [data-live-announcer]';

/** Elements which cannot be a message; a form with an error is not one, what it says is inside. */
const NEVER = new Set(
  'html head body form script style link meta title template br hr path use g option'.split(' '),
);

/** Classifies an element by its own attributes. */
export function candidateOf(element: Element): Candidate | null {
  const tag = tagOf(element);
  if (NEVER.has(tag)) return null;
  if (!tag.includes('-') && !hasAny(element)) return null;
  if ((tag.includes('-') || has(element, 'id')) && overlayOf(element) !== undefined) return 'overlay';
  if (attribute(element, 'aria-invalid') === 'true') return 'field';
  const { verdict } = readClasses(attribute(element, 'class'));
  const control = tag === 'input' || tag === 'select' || tag === 'textarea';
  if (verdict === 'field' || (verdict === 'error' && control)) return 'field';
  if (tag === 'button' || tag === 'a' || tag === 'svg' || control) return null;
  const sonner = has(element, 'data-sonner-toast');
  if (sonner || has(element, 'data-status')) {
    const kind = attribute(element, 'data-type') || attribute(element, 'data-status');
    if (kind === 'error') return 'error';
    if (/^(?:success|info|loading|warning)$/.test(kind)) return null;
    if (sonner) return 'toast';
  }
  const role = attribute(element, 'role');
  if (verdict === 'error' || (role !== '' && isDestructive(element))) return 'error';
  if (verdict === 'fine') return null;
  if (verdict === 'toast') return 'toast';
  if (role === 'alert' || verdict === 'alert') return 'alert';
  if (role === 'status' && isHotToast(element)) return 'toast';
  return null;
}

/** How the toasts of shadcn/ui say that they are about an error. */
function isDestructive(element: Element): boolean {
  return /(?:^|\s)destructive(?:\s|$)/.test(attribute(element, 'class'));
}

/** react-hot-toast marks nothing but the region that holds its toasts. */
function isHotToast(element: Element): boolean {
  return closest(element, '[data-rht-toaster], [id^=_rht_toaster]') !== null;
}

/**
 * Words of failure. They decide only for messages whose markup does not say of what kind they are.
 */
const BAD_NEWS =
  /\b(?:errors?|fail(?:s|ed|ure|ures)?|invalid|could ?n[o']t|could not|can ?not|can't|unable|denied|forbidden|unauthori[sz]ed|went wrong|not (?:found|available|allowed|permitted|possible)|time[ds]? ?out|unavailable|rejected|refused|expired|offline|oops|crash(?:ed)?|exception|declined|missing|lost|must (?:be|have|not))\b/i;

const GOOD_NEWS =
  /\b(?:success(?:ful(?:ly)?)?|succeeded|saved|copied|done|completed?|welcome|thank you|thanks)\b/i;

/** How many elements around an element may say of what kind it is. */
const SURROUNDINGS = 3;

/**
 * The text by which an error element is reported; null when it is none after all: it says nothing,
 * or says that all is well. Whether it is visible is the caller's question.
 *
 * `parent` stands for the parent of an element that has been taken out of the page.
 */
export function errorText(
  element: Element,
  candidate: Candidate,
  parent: Element | null = parentOf(element),
): string | null {
  if (candidate === 'overlay') {
    const text = overlayOf(element)?.read(element, MAX_TEXT) ?? '';
    return text === '' ? null : fold(text, MAX_TEXT);
  }
  if (candidate === 'field') return fieldText(element);
  if (closest(element, ANNOUNCERS) !== null || describesInvalidField(element)) return null;
  const text = readText(element, MAX_TEXT, { buttons: false }) || readText(element, MAX_TEXT);
  // An asterisk or a cross is an icon, not a message.
  if (!/[\p{L}\p{N}]/u.test(text)) return null;
  if (candidate === 'error') return text;

  const mood = moodOf(element, parent);
  if (mood !== '') return mood === 'bad' ? text : null;
  const bad = BAD_NEWS.test(text);
  if (candidate === 'toast') return bad || hasErrorIcon(element) ? text : null;
  return GOOD_NEWS.test(text) && !bad ? null : text;
}

/** What the elements around an alert, and its first ones inside, say of its kind. */
function moodOf(element: Element, parent: Element | null): 'bad' | 'good' | '' {
  let around: Element | null = parent;
  for (let level = 0; level < SURROUNDINGS && around !== null; level++, around = parentOf(around)) {
    const mood = ownMood(around);
    if (mood !== '') return mood;
  }
  let looked = 0;
  for (const inside of all(element, '[class], [data-status], [data-type]')) {
    const mood = ownMood(inside);
    if (mood !== '') return mood;
    if (++looked >= 12) break;
  }
  return '';
}

function ownMood(element: Element): 'bad' | 'good' | '' {
  const kind = attribute(element, 'data-status') || attribute(element, 'data-type');
  if (kind === 'error') return 'bad';
  if (kind === 'success' || kind === 'info' || kind === 'loading') return 'good';
  const { verdict } = readClasses(attribute(element, 'class'));
  return verdict === 'error' ? 'bad' : verdict === 'fine' ? 'good' : '';
}

/** The red disc of react-hot-toast, whose toasts have no other sign of their kind. */
function hasErrorIcon(element: Element): boolean {
  if (!isHotToast(element)) return false;
  const view = element.ownerDocument.defaultView;
  const around = parentOf(element) ?? element;
  let looked = 0;
  for (const inside of all(around, 'div')) {
    if (view?.getComputedStyle(inside).backgroundColor === 'rgb(255, 75, 75)') return true;
    if (++looked >= 12) return false;
  }
  return false;
}

/** The field's name and what is said about it; never what it holds. */
function fieldText(element: Element): string | null {
  const name = accessibleName(element) || attribute(element, 'name') || roleOf(element) || tagOf(element);
  const message = messageOfField(element);
  return fold(message === '' ? `${name}: invalid` : `${name}: ${message}`, MAX_TEXT);
}

function messageOfField(element: Element): string {
  return (
    referencedText(element, 'aria-errormessage', MAX_TEXT) ||
    referencedText(element, 'aria-describedby', MAX_TEXT)
  );
}

/** True for the message of a field that is reported itself, with this message. */
function describesInvalidField(element: Element): boolean {
  const id = attribute(element, 'id');
  if (id === '') return false;
  const quoted = JSON.stringify(id);
  const field = first(
    rootOf(element),
    `[aria-invalid=true][aria-errormessage=${quoted}], [aria-invalid=true][aria-describedby~=${quoted}]`,
  );
  return field !== null && !hiddenByMarkup(field);
}

/** Elements that a screen reader announces at once. */
const ALERTS = '[role=alert], [role=alertdialog], [aria-live=assertive]';

/** Whether an error element calls for attention: it has an alert role, or it is an overlay or a toast. */
export function isAlert(element: Element, candidate: Candidate): boolean {
  if (candidate === 'overlay' || candidate === 'toast') return true;
  const said = candidate === 'field' ? messagesOfField(element) : [element];
  return said.some((one) => closest(one, ALERTS) !== null || first(one, ALERTS) !== null);
}

/** The elements that say what is wrong with a field. */
function messagesOfField(element: Element): Element[] {
  const ids = `${attribute(element, 'aria-errormessage')} ${attribute(element, 'aria-describedby')}`;
  return ids
    .split(/\s+/)
    .filter((id) => id !== '')
    .map((id) => first(rootOf(element), `[id=${JSON.stringify(id)}]`))
    .filter((one) => one !== null);
}

/** The selector by which an error element is reported. */
export function errorSelector(element: Element, candidate: Candidate): string {
  if (candidate === 'overlay') return overlayOf(element)?.selector ?? tagOf(element);
  if (has(element, 'data-sonner-toast')) return selectorOf(element, '[data-sonner-toast]');
  const { name } = readClasses(attribute(element, 'class'));
  if (name !== '' && candidate !== 'field') return selectorOf(element, `.${name}`);
  const role = attribute(element, 'role');
  if (role === 'alert' || role === 'status') return selectorOf(element, `[role=${role}]`);
  return selectorOf(element);
}
