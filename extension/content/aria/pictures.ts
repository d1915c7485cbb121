/** By which picture the page tells elements apart that look the same otherwise. */
import { attribute, firstChildOf, nextSiblingOf, nodeTypeOf, tagOf } from '../dom';

/** The address of the picture that stands in an element, or right before it. */
export function pictureOf(element: Element): string {
  const before = element.previousElementSibling;
  const image = imageIn(element, 2) ?? (before !== null && tagOf(before) === 'img' ? before : undefined);
  const address = image === undefined ? '' : attribute(image, 'src');
  return /^(?:data|blob):/.test(address) ? '' : address;
}

/** The first image among the first nodes of an element, so many levels deep. */
function imageIn(element: Element, levels: number): Element | undefined {
  let left = MOST_BESIDE_PICTURES;
  for (let node = firstChildOf(element); node !== null && left > 0; node = nextSiblingOf(node)) {
    left--;
    if (nodeTypeOf(node) !== Node.ELEMENT_NODE) continue;
    if (tagOf(node as Element) === 'img') return node as Element;
    const inside = levels > 1 ? imageIn(node as Element, levels - 1) : undefined;
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** Among how many nodes a picture is looked for. */
const MOST_BESIDE_PICTURES = 8;
