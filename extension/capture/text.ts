/** Cutting text to size, and leaving out of events what says nothing. */

const encoder = new TextEncoder();

/** The length of a text in bytes of UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** The first `units` UTF-16 units of a text, never half of a surrogate pair. */
export function cutUnits(text: string, units: number): string {
  if (text.length <= units) return text;
  const last = text.charCodeAt(units - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? units - 1 : units);
}

/** The first `bytes` bytes of a text in UTF-8, never part of a character. */
export function cutBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  const buffer = new Uint8Array(bytes);
  return text.slice(0, encoder.encodeInto(text, buffer).read);
}

/** An address without its fragment. */
export function withoutHash(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}

/** A field that is left out of an event when it is zero. */
export function count<K extends string>(key: K, value: number): { [P in K]?: number } {
  return value === 0 ? {} : ({ [key]: value } as { [P in K]?: number });
}
