import { clean } from '../../clean';
import { type Held, hashOf } from '../../held';
import { isConnected, tagOf } from '../dom';
import { isEditingHost } from '../text';

/** A field with a value that the user typed or chose. */
export type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | HTMLElement;

/** The shortest value by which another field is known, in UTF-16 units. */
const MIN_KNOWN = 4;

/**
 * What the sensitive fields of a document hold, and of the documents around it and within it that can read them.
 * Values are never kept: they are read from the fields, and known again by salted hashes.
 */
export class Holdings {
  /** Sensitive fields that may still be on a page. */
  readonly #fields = new Set<WeakRef<Field>>();
  /** The hash of what a field held last; by hash how many fields, gone ones among them, held it, and its length. */
  readonly #hashOf = new WeakMap<Element, number>();
  readonly #held = new Map<number, { fields: number; length: number }>();
  readonly #salt: Held['salt'];

  constructor() {
    const [a = 0, b = 0] = crypto.getRandomValues(new Uint32Array(2));
    this.#salt = [a, b];
  }

  /** Whether no field holds anything, and none held. */
  get empty(): boolean {
    return this.#held.size === 0;
  }

  /** The hashes of all values. */
  get hashes(): Held {
    return { salt: this.#salt, hashes: [...this.#held].map(([hash, { length }]) => [hash, length]) };
  }

  /** Adds a field whose value must be kept up to date with {@link keep}. */
  add(field: WeakRef<Field>): void {
    this.#fields.add(field);
  }

  /** The sensitive fields on the pages. */
  *live(): Generator<Field> {
    for (const known of this.#fields) {
      const field = known.deref();
      if (field === undefined) this.#fields.delete(known);
      else if (isConnected(field)) yield field;
    }
  }

  /** Notes the hash of a sensitive field's value, replacing the previous one. Returns whether it is another. */
  keep(field: Field): boolean {
    const value = textOf(field);
    const before = this.#hashOf.get(field);
    if (value.length < MIN_KNOWN) return false; // emptied as it went away, perhaps
    const hash = hashOf(value, this.#salt);
    if (hash === before) return false;
    const { length } = value;
    this.#held.set(hash, { fields: (this.#held.get(hash)?.fields ?? 0) + 1, length });
    const last = before === undefined ? undefined : this.#held.get(before);
    if (before !== undefined && last !== undefined) {
      if (last.fields > 1) this.#held.set(before, { ...last, fields: last.fields - 1 });
      else this.#held.delete(before);
    }
    this.#hashOf.set(field, hash);
    return true;
  }

  /** Notes what fields held when they went: scripts set values without a mutation. Returns whether that is new. */
  noteRemoved(): boolean {
    let changed = false;
    for (const known of this.#fields) {
      const field = known.deref();
      if (field !== undefined && isConnected(field)) continue;
      if (field !== undefined) changed = this.keep(field) || changed;
      this.#fields.delete(known);
    }
    return changed;
  }

  /** Whether a sensitive field holds, or held as it went away, this value. */
  has(value: string): boolean {
    return value.length >= MIN_KNOWN && !this.empty && this.#held.has(hashOf(value, this.#salt));
  }

  /** The lengths of all values. */
  get lengths(): Set<number> {
    return new Set([...this.#held.values()].map(({ length }) => length));
  }
}

/** The holdings that a window shares with the windows around it that it can read. */
export function holdingsOf(view: Window): Holdings {
  let outermost: Shared = view;
  for (let at: Window = view; at.parent !== at; ) {
    at = at.parent;
    try {
      if (at.document !== undefined) outermost = at;
    } catch {
      // of another origin; one around it may be of this one
    }
  }
  outermost.tidemarkHoldings ??= new Holdings();
  return outermost.tidemarkHoldings;
}

/** A window in the extension's own world, which the page cannot see. */
type Shared = Window & { tidemarkHoldings?: Holdings };

/** What a field holds as text, as it would be shown; of boxes, lists and files nothing. */
export function textOf(field: Element): string {
  return clean(heldBy(field));
}

function heldBy(field: Element): string {
  if (tagOf(field) === 'textarea') return (field as HTMLTextAreaElement).value;
  if (isEditingHost(field)) return field.textContent ?? '';
  if (tagOf(field) !== 'input') return '';
  const input = field as HTMLInputElement;
  return /^(?:checkbox|radio|file|submit|button|reset|image|range|color)$/.test(input.type)
    ? ''
    : input.value;
}
