/** Salted hashes by which texts are recognized that are nowhere kept: what sensitive fields hold. */

/** What the sensitive fields of a document hold, or held as they went away. */
export interface Held {
  salt: readonly [number, number];
  /** The hash of each value, with its length in UTF-16 units. */
  hashes: readonly (readonly [hash: number, length: number])[];
}

/** The shortest value that is looked for in texts, in UTF-16 units; a shorter one says little. */
export const MIN_HIDDEN = 6;

/** The longest one, which bounds the time for hostile pages. */
export const MAX_HIDDEN = 200;

/** A hash of 53 bits. */
export function hashOf(text: string, [a, b]: Held['salt']): number {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x9e3779b1);
    b = Math.imul(b ^ c, 0x5f356495);
  }
  return (a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff);
}

/** The text with a mask in place of each value, wherever it stands. For short texts: every part is tried. */
export function hideHeld(text: string, { salt, hashes }: Held, mask: string): string {
  const known = new Set(hashes.map(([hash]) => hash));
  const lengths = [...new Set(hashes.map(([, length]) => length))]
    .filter((length) => length >= MIN_HIDDEN && length <= MAX_HIDDEN)
    .sort((a, b) => b - a);
  let hidden = '';
  for (let at = 0; at < text.length; ) {
    const found = lengths.find(
      (length) => at + length <= text.length && known.has(hashOf(text.slice(at, at + length), salt)),
    );
    hidden += found === undefined ? text[at] : mask;
    at += found ?? 1;
  }
  return hidden;
}
