/**
 * Runs in a frame before the first snapshot of its tab. It leaves two functions in the extension's own
 * world, which the page cannot see: one takes snapshots, the other helps with actions.
 */
import type { FromContent } from '../../messages';
import type { AriaFrame, AriaKnown } from '../../protocol';
import { Acting } from '../acting/main';
import { SensitiveFields } from '../sensitive/fields';
import { holdingsOf } from '../sensitive/holdings';
import type { FrameSlot } from './slots';
import { AriaTree } from './tree';

/** The snapshot of a frame; the worker adds which frame it is. */
export type FrameLook = Omit<AriaFrame, 'frame' | 'parent' | 'owner'> & { place: FramePlace };

/** The place of a frame and its child frames at one moment. */
export interface FramePlace {
  document: string;
  /** The place of this window among the frames of its parent; -1 inside a shadow root. */
  index: number;
  url: string;
  size: string;
  slots: FrameSlot[];
}

interface World {
  tidemarkAct?: (request: string) => Promise<string>;
  /** The document's name, which its parent reads where their origins are the same. */
  tidemarkDocument?: string;
  /** Which frames stand where now. */
  tidemarkPlaces?: () => string;
  tidemarkAria?: (known: AriaKnown[], mask: string, timeoutMs: number, whole: boolean) => Promise<string>;
  /** The recorder's, which has known the fields for longer. */
  tidemarkSensitive?: SensitiveFields;
  /** Posts to the worker; false if there is no connection. */
  tidemarkTell?: (message: FromContent) => boolean;
}

/** What changes a page without a mutation: what is typed, and what style sheets end. */
const UNSEEN = ['input', 'transitionend', 'animationend'];

function main(world: World): void {
  const name = documentName();
  const sensitive =
    world.tidemarkSensitive ?? new SensitiveFields(new AbortController().signal, holdingsOf(window));
  if (world.tidemarkSensitive === undefined) sensitive.observe(document);
  let looked = false; // and nothing has changed since
  const changed = (): void => {
    if (looked) looked = world.tidemarkTell?.({ t: 'stale' }) !== true;
  };
  for (const type of UNSEEN) addEventListener(type, changed, { capture: true, passive: true });
  const tree = new AriaTree(document, sensitive, changed);
  const acting = new Acting(name, tree, sensitive);
  world.tidemarkAct = (request) => acting.answer(request);
  world.tidemarkDocument = name;
  const place = (): FramePlace => ({
    document: name,
    index: indexInParent(),
    url: location.href,
    size: `${innerWidth} ${innerHeight}`,
    slots: tree.slots(),
  });
  world.tidemarkPlaces = () => JSON.stringify(place());
  let before: Promise<unknown> = Promise.resolve();
  world.tidemarkAria = (known, mask, timeoutMs, whole) => {
    const since = known.find((one) => one.document === name)?.version ?? 0;
    const look = before.then(async () => {
      looked = true;
      const page = { document: name, url: location.href, title: document.title };
      const { nodes, ...rest } = await tree.look(since, mask, timeoutMs, whole);
      const seen: Omit<FrameLook, 'nodes'> = { ...page, ...rest, place: place() };
      // One string passes from process to process much faster than thousands of objects.
      return sensitive.hide(`{"nodes":[${nodes.join()}],${JSON.stringify(seen).slice(1)}`);
    });
    before = look.catch(() => undefined); // one snapshot at a time: each reports the changes since another
    return look;
  };
}

/** The place of this window among the frames of its parent; readable whatever the parent's origin. */
function indexInParent(): number {
  if (parent === window) return -1;
  for (let i = 0; i < parent.length; i++) if (parent[i] === window) return i;
  return -1;
}

function documentName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const world = globalThis as World;
if (world.tidemarkAria === undefined) main(world);
