/** The texts of a frame's secret variables: they are masked wherever they stand in the values that are reported with them. */
import { MIN_HIDDEN } from '../../held';
import type { DebugField } from '../../protocol';
import { MASK } from '../../redact/redact';

/** The longest text that the debugger's preview of an object shows whole, in UTF-16 units, and the begin of a longer one. */
const MAX_WHOLE = 100;
const BEGIN = 40;

export class Secrets {
  /** Each text, and whether it is masked only where it is the whole of a value. */
  readonly #texts = new Map<string, boolean>();

  /** Adds the text of a variable; `doubtful` if its name does not say that it is a secret. */
  add(text: string, doubtful: boolean): void {
    if (text.length >= MIN_HIDDEN) this.#texts.set(text, doubtful && this.#texts.get(text) !== false);
  }

  /** Masks the texts in fields, and in what these hold. Returns whether there was any. */
  hide(fields: Iterable<DebugField>): boolean {
    let found = false;
    if (this.#texts.size === 0) return found;
    const hideIn = (field: DebugField): void => {
      const { v = '' } = field;
      const shown = field.t === 'string' ? this.#inString(v) : this.inCode(v);
      if (shown !== v) {
        found = true;
        if (field.t === 'string') field.m = true;
        if (field.t === 'string' && shown === MASK) delete field.v;
        else field.v = shown;
      }
      for (const held of field.f ?? []) hideIn(held);
    };
    for (const field of fields) hideIn(field);
    return found;
  }

  /** A value as code writes it, without the texts. */
  inCode(value: string): string {
    let shown = value;
    for (const [text, whole] of this.#longestFirst()) {
      const written = JSON.stringify(text).slice(1, -1);
      shown = whole ? shown.replaceAll(`"${written}"`, `"${MASK}"`) : shown.replaceAll(written, MASK);
      const at = text.length > MAX_WHOLE ? shown.indexOf(written.slice(0, BEGIN)) : -1;
      if (at >= 0) shown = `${shown.slice(0, at)}${MASK}…`;
    }
    return shown;
  }

  /** The characters of a string, without the texts. */
  #inString(value: string): string {
    let shown = value;
    for (const [text, whole] of this.#longestFirst())
      shown = whole ? (shown === text ? MASK : shown) : shown.replaceAll(text, MASK);
    return shown;
  }

  /** A text may be a part of another. */
  #longestFirst(): [text: string, whole: boolean][] {
    return [...this.#texts].sort(([a], [b]) => b.length - a.length);
  }
}
