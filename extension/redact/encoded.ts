/** Masks inside of what is percent-encoded; a part of redact.ts. */

/** How often something encoded is looked for inside of something encoded. */
const MAX_DEPTH = 2;

/** What encodeURIComponent leaves, its escapes, and the brackets of a mask: one encoded value. */
const encodedRun = /[A-Za-z0-9\-_.~%+!*'()[\]]+/g;
/** The same around a private key: its base64 has slashes, which encodeURI and Python's quote keep. */
const keyRun = /[A-Za-z0-9\-_.~%+!*'()[\]/]+/g;
const hasEscape = /%[0-9A-Fa-f]{2}/;

/**
 * Masks the JSON or the address that a parameter carries, with `redact`. What is masked is encoded
 * again, the mask itself is not.
 */
export function maskEncoded(
  s: string,
  mask: string,
  depth: number,
  redact: (inner: string) => { text: string; masked: number },
): { text: string; masked: number } {
  if (depth === MAX_DEPTH || !s.includes('%')) return { text: s, masked: 0 };
  let masked = 0;
  const hasKey = s.includes('PRIVATE%20KEY');
  const text = s.replace(hasKey ? keyRun : encodedRun, (run) => {
    const decoded = hasEscape.test(run) ? decode(run) : undefined;
    if (decoded === undefined) return run;
    const clean = redact(decoded);
    if (clean.masked === 0) return run;
    masked += clean.masked;
    return clean.text
      .split(mask)
      .map((part) => (hasKey ? part.split('/').map(encode).join('/') : encode(part)))
      .join(mask);
  });
  return { text, masked };
}

/** Undoes percent-encoding; undefined where it is none, or no UTF-8. */
function decode(s: string): string | undefined {
  try {
    return decodeURIComponent(s);
  } catch {
    return undefined;
  }
}

function encode(s: string): string {
  return s.replace(/[^A-Za-z0-9\-_.~+!*'()[\]]+/g, encodeURIComponent);
}

/** How long encoded JSON is that is looked into. What is longer is a map of a source or a file. */
const MAX_BASE64 = 4 << 10;

/** Undoes base64 with either alphabet; undefined where it is none, or no UTF-8. */
export function decodeBase64(s: string): string | undefined {
  if (s.length > MAX_BASE64) return undefined;
  let digits = s.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  if (digits.length % 4 === 1) digits = digits.slice(0, -1); // it was cut
  try {
    const bytes = Uint8Array.from(atob(digits), (c) => c.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
