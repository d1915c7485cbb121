/**
 * Reads of the page's tree that its names cannot disturb. A form hands out its fields as properties
 * before its own (`<input name="parentElement">`), and a document its named images: reading such a
 * property would give a field in place of the parent, and a walk upwards would never end. A content
 * script's prototypes are its own, so what is taken from them is what the browser says.
 */

function getter<Of extends object, Value>(prototype: Of, name: keyof Of): (of: Of) => Value {
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at)) {
    const get = Object.getOwnPropertyDescriptor(at, name)?.get;
    if (get !== undefined) return (of) => get.call(of) as Value;
  }
  return (of) => of[name] as Value;
}

const {
  getAttribute,
  hasAttribute,
  hasAttributes,
  closest: closestMethod,
  matches: matchesMethod,
} = Element.prototype;
const { contains: containsMethod, getRootNode } = Node.prototype;
const query = [Element.prototype, Document.prototype, DocumentFragment.prototype] as const;

export const nodeTypeOf = getter<Node, number>(Node.prototype, 'nodeType');
export const parentOf = getter<Node, Element | null>(Node.prototype, 'parentElement');
export const firstChildOf = getter<Node, Node | null>(Node.prototype, 'firstChild');
export const nextSiblingOf = getter<Node, Node | null>(Node.prototype, 'nextSibling');
export const isConnected = getter<Node, boolean>(Node.prototype, 'isConnected');
export const shadowRootOf = getter<Element, ShadowRoot | null>(Element.prototype, 'shadowRoot');
export const childCountOf = getter<Element, number>(Element.prototype, 'childElementCount');
/** The tag as HTML writes it, in lower case. */
export const tagOf = getter<Element, string>(Element.prototype, 'localName');
export const bodyOf = getter<Document, HTMLElement | null>(Document.prototype, 'body');
export const titleOf = getter<Document, string>(Document.prototype, 'title');
export const readyStateOf = getter<Document, DocumentReadyState>(Document.prototype, 'readyState');

/** An attribute's value, "" if absent: no rule here distinguishes the two. */
export function attribute(element: Element, name: string): string {
  return getAttribute.call(element, name) ?? given?.(element, name) ?? '';
}

/** The address of a link, which in a drawing may have another name; "" without one. */
export function addressOf(link: Element): string {
  return attribute(link, 'href') || attribute(link, 'xlink:href');
}

/** Whether a link has an address, be it empty. */
export function hasAddress(link: Element): boolean {
  return has(link, 'href') || has(link, 'xlink:href');
}

export function has(element: Element, name: string): boolean {
  return hasAttribute.call(element, name) || given?.(element, name) !== undefined;
}

/** Attributes that elements have though they are not written on them; undefined while there are none. */
let given: ((element: Element, name: string) => string | undefined) | undefined;

/** Has elements have attributes that are not written on them: for the functions here, and for their own methods in this world. */
export function give(element: Element, attributes: typeof given): void {
  given = attributes;
  const get = (name: string): string | null =>
    getAttribute.call(element, name) ?? attributes?.(element, name) ?? null;
  Object.defineProperty(element, 'getAttribute', { configurable: true, value: get });
  Object.defineProperty(element, 'hasAttribute', {
    configurable: true,
    value: (name: string) => get(name) !== null,
  });
}

export function contains(outer: Node, inner: Node): boolean {
  return containsMethod.call(outer, inner);
}

export function closest(element: Element, selector: string): Element | null {
  return closestMethod.call(element, selector);
}

/** Whether the element matches a selector; not where the selector is not valid. */
export function matches(element: Element, selector: string): boolean {
  try {
    return matchesMethod.call(element, selector);
  } catch {
    return false;
  }
}

export function rootOf(node: Node): Node {
  return getRootNode.call(node);
}

export function hasChildElements(element: Element): boolean {
  return childCountOf(element) > 0;
}

/** Whether the element has any attribute at all. */
export function hasAny(element: Element): boolean {
  return hasAttributes.call(element);
}

/** All elements below `root` that match; none where the selector is not valid. */
export function all(root: Node, selector: string): Iterable<Element> & { readonly length: number } {
  const [element, document, fragment] = query;
  const type = nodeTypeOf(root);
  const of = type === Node.ELEMENT_NODE ? element : type === Node.DOCUMENT_NODE ? document : fragment;
  try {
    return of.querySelectorAll.call(root, selector);
  } catch {
    return [];
  }
}

/** The first element below `root` that matches. */
export function first(root: Node, selector: string): Element | null {
  for (const found of all(root, selector)) return found;
  return null;
}

/** Whether an element has more descendants than a number, or so much text between them; counts no further. */
export function isLarger(element: Element, than: number): boolean {
  let count = -1;
  const open: Node[] = [element];
  for (let node = open.pop(); node !== undefined && count <= than; node = open.pop()) {
    if (nodeTypeOf(node) !== Node.ELEMENT_NODE) continue;
    count++;
    for (let kid = firstChildOf(node); kid !== null && open.length <= 2 * than; kid = nextSiblingOf(kid))
      open.push(kid);
  }
  return count > than || open.length > 2 * than;
}

/** True for elements of any frame's world; `instanceof` would deny those of another one. */
export function isElement(node: EventTarget | null | undefined): node is Element {
  return isNode(node) && nodeTypeOf(node) === Node.ELEMENT_NODE;
}

export function isShadowRoot(node: EventTarget | null | undefined): node is ShadowRoot {
  return isNode(node) && nodeTypeOf(node) === Node.DOCUMENT_FRAGMENT_NODE && 'host' in node;
}

function isNode(node: EventTarget | null | undefined): node is Node {
  // Windows and other targets are no nodes; a named field may say `nodeType`, but only of a form.
  return node != null && 'nodeType' in node && 'ownerDocument' in node;
}

/**
 * The parent element; of what stands at the top of a shadow root its host, and of what stands at the
 * top of a frame's document the frame.
 */
export function parentAcrossRoots(element: Element): Element | null {
  const parent = parentOf(element);
  if (parent !== null) return parent;
  const root = rootOf(element);
  if (isShadowRoot(root)) return root.host;
  if (nodeTypeOf(root) !== Node.DOCUMENT_NODE) return null;
  return (root as Document).defaultView?.frameElement ?? null;
}
