import { attribute, first, hasAddress, rootOf, tagOf } from './dom';
import { fold, isEditingHost, readText } from './text';

const MAX_NAME = 80;

/** Roles whose name comes from what they contain when nothing else names them. */
const NAMED_BY_CONTENT = new Set(
  (
    'button link menuitem menuitemcheckbox menuitemradio option tab treeitem heading checkbox radio switch cell ' +
    'gridcell columnheader rowheader tooltip label'
  ).split(' '),
);

const TAG_ROLES: Record<string, string> = {
  article: 'article',
  aside: 'complementary',
  button: 'button',
  datalist: 'listbox',
  dialog: 'dialog',
  fieldset: 'group',
  form: 'form',
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  h4: 'heading',
  h5: 'heading',
  h6: 'heading',
  img: 'img',
  label: 'label',
  legend: 'label',
  main: 'main',
  meter: 'meter',
  nav: 'navigation',
  option: 'option',
  output: 'status',
  progress: 'progressbar',
  summary: 'button',
  table: 'table',
  td: 'cell',
  textarea: 'textbox',
  th: 'columnheader',
  tr: 'row',
};

const INPUT_ROLES: Record<string, string> = {
  button: 'button',
  checkbox: 'checkbox',
  color: 'color',
  date: 'date',
  'datetime-local': 'date',
  file: 'file',
  image: 'button',
  month: 'date',
  number: 'spinbutton',
  radio: 'radio',
  range: 'slider',
  reset: 'button',
  search: 'searchbox',
  submit: 'button',
  time: 'time',
  week: 'date',
};

/**
 * The element's role, in ARIA's words where ARIA has one, for a reader; "" where it has none that
 * would help. A first, small reading: the ARIA tree brings the full computation.
 */
export function roleOf(element: Element): string {
  const explicit = attribute(element, 'role').trim().split(/\s+/)[0] ?? '';
  if (explicit !== '' && explicit !== 'presentation' && explicit !== 'none' && explicit !== 'generic') {
    return explicit.toLowerCase();
  }
  const tag = tagOf(element);
  if (tag === 'input') return INPUT_ROLES[(element as HTMLInputElement).type] ?? 'textbox';
  if (tag === 'a' || tag === 'area') return hasAddress(element) ? 'link' : '';
  if (tag === 'select') {
    const select = element as HTMLSelectElement;
    return select.multiple || select.size > 1 ? 'listbox' : 'combobox';
  }
  if (isEditingHost(element)) return 'textbox';
  return TAG_ROLES[tag] ?? '';
}

/**
 * The name by which a person, or a screen reader, knows the element; "" when it has none. Never
 * holds what was typed into a field.
 */
export function accessibleName(element: Element, role = roleOf(element)): string {
  return (
    byReference(element) ||
    fold(attribute(element, 'aria-label'), MAX_NAME) ||
    native(element) ||
    (NAMED_BY_CONTENT.has(role) && !isEditingHost(element)
      ? readText(element, MAX_NAME, { images: true }) || graphicTitle(element)
      : '') ||
    fold(attribute(element, 'title'), MAX_NAME) ||
    fold(attribute(element, 'placeholder') || attribute(element, 'aria-placeholder'), MAX_NAME)
  );
}

/** The texts of the elements whose ids an attribute lists, such as aria-labelledby. */
export function referencedText(element: Element, name: string, max: number): string {
  const ids = attribute(element, name);
  if (ids.trim() === '') return '';
  const root = rootOf(element);
  const texts = ids
    .trim()
    .split(/\s+/)
    .slice(0, 8)
    .map((id) => first(root, `[id=${JSON.stringify(id)}]`))
    .filter((found) => found !== null)
    .map((found) => attribute(found, 'aria-label') || readText(found, max, { images: true }));
  return fold(texts.join(' '), max);
}

function byReference(element: Element): string {
  return referencedText(element, 'aria-labelledby', MAX_NAME);
}

function native(element: Element): string {
  switch (tagOf(element)) {
    case 'input': {
      const input = element as HTMLInputElement;
      // The value of these is their caption, written by the page.
      if (input.type === 'submit' || input.type === 'button' || input.type === 'reset') {
        return (
          labelsOf(input) ||
          fold(input.value, MAX_NAME) ||
          { submit: 'Submit', reset: 'Reset' }[input.type as string] ||
          ''
        );
      }
      if (input.type === 'image') return labelsOf(input) || fold(input.alt || 'Submit', MAX_NAME);
      return labelsOf(input);
    }
    case 'select':
    case 'textarea':
    case 'button':
    case 'meter':
    case 'output':
    case 'progress':
      return labelsOf(element as HTMLSelectElement);
    case 'img':
    case 'area':
      return fold(attribute(element, 'alt'), MAX_NAME);
    case 'fieldset':
      return childText(element, 'legend');
    case 'table':
      return childText(element, 'caption');
    case 'svg':
      return graphicTitle(element);
    default:
      return '';
  }
}

function labelsOf(control: { readonly labels: NodeListOf<HTMLLabelElement> | null }): string {
  const labels = control.labels;
  if (labels == null || labels.length === 0) return '';
  return fold(
    Array.from(labels)
      .map((label) => readText(label, MAX_NAME, { images: true, buttons: false }))
      .join(' '),
    MAX_NAME,
  );
}

function childText(element: Element, tag: string): string {
  const child = first(element, `:scope > ${tag}`);
  return child === null ? '' : readText(child, MAX_NAME);
}

/** The title inside a graphic: how icon buttons are often named. */
function graphicTitle(element: Element): string {
  const title = first(element, 'title');
  return fold(title?.textContent ?? '', MAX_NAME);
}
