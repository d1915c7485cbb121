/** The elements that show frames, and what can be said of which frame each shows. */
import { attribute } from '../dom';

/** An element that shows a frame. */
export interface FrameSlot {
  /** The element's id in the tree. */
  id: number;
  /** The name of the document in it, where the page may look into it. */
  document?: string;
  /** Which of the window's frames it shows; -1 inside a shadow root or if unknown. */
  index: number;
  /** The address that it was given. */
  url: string;
  size: string;
  /** It is shown, and what is in it is more than the empty document that frames begin with. */
  expected: boolean;
}

const TAGS = new Set(['iframe', 'frame', 'object', 'embed']);

export function isFrameTag(tag: string): boolean {
  return TAGS.has(tag);
}

/** True for an element that shows a frame. The content of an `embed` is unknown. */
export function showsFrame(element: Element, tag: string): boolean {
  switch (tag) {
    case 'iframe':
    case 'frame':
      return true;
    case 'object':
      return windowIn(element) !== null;
    case 'embed':
      return /^$|html|pdf/.test(attribute(element, 'type')) && isNoPicture(attribute(element, 'src'));
    default:
      return false;
  }
}

function isNoPicture(address: string): boolean {
  return address !== '' && !/\.(?:svg|png|jpe?g|gif|webp|avif|swf|mp[34]|webm)(?:[?#]|$)/i.test(address);
}

function windowIn(element: Element): Window | null {
  return (element as HTMLIFrameElement).contentWindow ?? null;
}

function isBlank(address: string): boolean {
  return address === '' || address.startsWith('about:');
}

/** An element of the tree, as far as it matters here. */
export interface SlotElement {
  readonly element: Element;
  readonly id: number;
  readonly tag: string;
  /** 'shown' when it is shown with what it contains. */
  readonly shown: string;
}

/** What can be said of the frame that an element shows. */
export function slotOf({ element, id, tag, shown }: SlotElement): FrameSlot {
  const inside = windowIn(element);
  const { clientWidth, clientHeight } = element;
  const given = tag === 'object' ? (element as HTMLObjectElement).data : (element as HTMLIFrameElement).src;
  const expected = shown === 'shown';
  const slot: FrameSlot = { id, index: -1, url: given, size: `${clientWidth} ${clientHeight}`, expected };
  if (inside === null) return slot;
  for (let i = 0; i < window.length; i++) if (window[i] === inside) slot.index = i;
  try {
    const name = (inside as { tidemarkDocument?: unknown }).tidemarkDocument;
    if (typeof name === 'string') slot.document = name;
    else if (
      inside.location.href === 'about:blank' &&
      (isBlank(given) || attribute(element, 'loading') === 'lazy')
    )
      slot.expected = false;
  } catch {
    // of another origin
  }
  return slot;
}
