/** Which element shows which frame. */

/** An element that shows a frame; see the walker's own words for it. */
interface Slot {
  id: number;
  document?: string;
  index: number;
  url: string;
  size: string;
  expected: boolean;
}

/** A frame and its reported place in the page. */
export interface Placed {
  frame: number;
  parent: number;
  document: string;
  index: number;
  url: string;
  size: string;
  slots: Slot[];
}

type Rule = (frame: Placed, slot: Slot) => boolean;

/**
 * How frames and elements find each other, the surest first. A page that may look into a frame knows its
 * document; of other frames it knows the place among the window's frames, but not of those in shadow roots.
 */
const RULES: readonly Rule[] = [
  ({ document }, slot) => slot.document === document,
  ({ index }, slot) => slot.document === undefined && index >= 0 && slot.index === index,
  (frame, slot) => isOpen(frame, slot) && isAddress(frame, slot) && frame.size === slot.size,
  (frame, slot) => isOpen(frame, slot) && isAddress(frame, slot),
  (frame, slot) => isOpen(frame, slot) && frame.size === slot.size && !/(?:^| )0/.test(slot.size), // it was sent on
];

function isOpen(frame: Placed, slot: Slot): boolean {
  return slot.document === undefined && slot.index < 0 && frame.url !== '';
}

function isAddress(frame: { url: string }, slot: Slot): boolean {
  return frame.url.replace(/\/$/, '') === slot.url.replace(/\/$/, '');
}

/** Which element shows which frame, as far as that is known. */
export interface Owners {
  /** The id of the element that shows each frame, by the frame's id. No element shows two. */
  owner: Map<number, number>;
  /** The addresses of frames whose place in the page is ambiguous. */
  unsure: string[];
  /** The addresses of frames that elements show and that are not among those given. */
  missing: string[];
  /** The addresses given to all elements that show a frame which is not known. */
  open: string[];
}

/** A frame that could not be read. */
export interface Unread {
  parent: number;
  url: string;
}

/** Finds the element that shows each frame. Those that could not be read are given by what is around them. */
export function owners(places: readonly Placed[], unread: readonly Unread[] = []): Owners {
  const owner = new Map<number, number>();
  const unsure: string[] = [];
  const missing: string[] = [];
  const unfilled: string[] = [];
  for (const { frame, slots, url: page } of places) {
    // What a plugin shows, such as a PDF, has no address of its own.
    const named = ({ url }: Slot): string => (url === 'about:blank' ? page : url);
    let frames = places.filter(({ parent }) => parent === frame);
    let open = slots;
    for (const rule of RULES) {
      for (const one of frames) {
        const fit = open.filter((slot) => rule(one, slot));
        const [slot] = fit;
        if (slot === undefined || fit.length > 1) continue;
        if (frames.filter((other) => rule(other, slot)).length > 1) continue;
        owner.set(one.frame, slot.id);
      }
      const taken = new Set(frames.map((one) => owner.get(one.frame)));
      frames = frames.filter((one) => !owner.has(one.frame));
      open = open.filter(({ id }) => !taken.has(id));
    }
    const either = frames.filter((one) => open.some((slot) => isOpen(one, slot) && isAddress(one, slot)));
    unsure.push(...either.map(({ url }) => url));
    // Some of those without a frame show a known one that cannot be read or identified.
    const expected = open.filter((slot) => slot.expected);
    unfilled.push(...expected.map(named));
    let explained = either.length;
    for (const one of unread.filter(({ parent }) => parent === frame)) {
      const at = expected.findIndex((slot) => isAddress(one, slot));
      if (at < 0) explained++;
      else expected.splice(at, 1);
    }
    missing.push(...expected.slice(explained).map(named));
  }
  return { owner, unsure, missing, open: unfilled };
}
