/** Elements that could not use their resource. */
import { getter, now, slice, unbound } from './natives';
import type { ResourceRecord } from './records';

const tagOf = getter<string>(Element.prototype, 'localName');
const attribute = unbound(Element.prototype.getAttribute) as (
  element: unknown,
  name: string,
) => string | null;
const imageSource = getter<string>(HTMLImageElement.prototype, 'currentSrc');
const mediaSource = getter<string>(HTMLMediaElement.prototype, 'currentSrc');
const baseOf = getter<string>(Node.prototype, 'baseURI');
const href = getter<string>(URL.prototype, 'href');
const URLNative = URL;

/** The longest data: address that is told, in UTF-16 units: enough to know its kind. */
const MAX_DATA = 64;

const media: Record<string, true | undefined> = {
  __proto__: null as never,
  img: true,
  image: true,
  input: true,
  video: true,
  audio: true,
  source: true,
  track: true,
  object: true,
};

/** Whether the debugger hears nothing when elements of this tag cannot use what arrived. */
export function isMedia(tag: string): boolean {
  return media[tag] === true;
}

/** The record of an element that failed to load; undefined for one that names no resource. */
export function failedResource(element: unknown): ResourceRecord | undefined {
  const tag = tagOf(element);
  const address = addressOf(element, tag);
  if (address === '') return undefined;
  const integrity = (attribute(element, 'integrity') ?? '') !== '';
  return [
    'resource',
    now(),
    tag,
    address,
    integrity,
    tag === 'script' && attribute(element, 'type') === 'module',
  ];
}

/** Where an element has its resource from; empty when it names none. */
function addressOf(element: unknown, tag: string): string {
  let chosen = '';
  if (tag === 'img') chosen = imageSource(element);
  else if (tag === 'video' || tag === 'audio') chosen = mediaSource(element);
  const named =
    chosen ||
    (attribute(element, 'src') ??
      attribute(element, 'href') ??
      attribute(element, 'xlink:href') ??
      attribute(element, 'data') ??
      '');
  if (named === '') return '';
  const address = href(new URLNative(named, baseOf(element)));
  return slice(address, 0, 5) === 'data:' && address.length > MAX_DATA
    ? `${slice(address, 0, MAX_DATA)}…`
    : address;
}
