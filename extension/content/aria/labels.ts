import { all, attribute, closest, rootOf, tagOf } from '../dom';

const LABELABLE = new Set('button input meter output progress select textarea'.split(' '));

/**
 * The labels of fields. A field's own list of them is found by going through the whole document, for
 * every field anew; this goes through it once.
 */
export class Labels {
  #byTarget = new Map<Node, Map<string, HTMLLabelElement[]>>();

  /** The document may have changed. */
  forget(): void {
    if (this.#byTarget.size > 0) this.#byTarget = new Map();
  }

  of(element: Element): HTMLLabelElement[] {
    if (!LABELABLE.has(tagOf(element))) return [];
    const labels: HTMLLabelElement[] = [];
    const around = closest(element, 'label') as HTMLLabelElement | null;
    if (around !== null && around.control === element) labels.push(around);
    const id = attribute(element, 'id');
    if (id !== '') {
      for (const label of this.#in(rootOf(element)).get(id) ?? []) {
        if (label !== around && label.control === element) labels.push(label);
      }
    }
    const [one, other] = labels;
    if (one !== around || one === undefined || other === undefined) return labels;
    return labels.sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #in(root: Node): Map<string, HTMLLabelElement[]> {
    let targets = this.#byTarget.get(root);
    if (targets === undefined) {
      targets = new Map();
      this.#byTarget.set(root, targets);
      for (const label of all(root, 'label[for]')) {
        const id = attribute(label, 'for');
        const list = targets.get(id);
        if (list === undefined) targets.set(id, [label as HTMLLabelElement]);
        else list.push(label as HTMLLabelElement);
      }
    }
    return targets;
  }

  /** Does something while the field's own list is this one, for those who read that list. */
  during<T>(element: Element, what: () => T): T {
    if (!LABELABLE.has(tagOf(element))) return what();
    // Seen in the extension's own world alone, as all properties that it sets.
    Object.defineProperty(element, 'labels', { configurable: true, value: this.of(element) });
    try {
      return what();
    } finally {
      delete (element as { labels?: unknown }).labels;
    }
  }
}

function isBefore(a: Node, b: Node): boolean {
  return (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}
