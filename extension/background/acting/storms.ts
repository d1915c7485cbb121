/**
 * Requests that a page makes again and again. An action does not wait for them. The host reports them, and decides by
 * the same times (host/internal/storms/pace.go and host/internal/rhythm).
 */
import type { NetworkEvent } from '../../protocol';

/** So many times, each APART_MS after the one before or later, in ms. */
const BEATS = 12;
const APART_MS = 100;
/** The mean gap of a storm, and of one whose requests each begin as soon as the one before has ended; in ms. */
const FAST_MS = 225;
const SLOW_MS = 700;
/** A longer gap ends a storm, in ms. */
const STALL_MS = 900;
/** How soon after the end of the one before a request begins in a loop, in ms. */
const LOOP_MS = [-30, 100] as const;
/** A loop whose requests differ lasts at least so long, and does not begin them so soon after the end of the one before; in ms. */
const RHYTHM_MS = 5000;
const SOON_MS = 30;
/** The most requests that are distinguished. */
const MAX_KINDS = 200;
/** How much of a body is compared, in characters. */
const MAX_BODY = 1024;

interface Beat {
  readonly at: number;
  /** Whether it began as soon as the one before had ended. */
  readonly follows: boolean;
}

interface Repetition {
  beats: Beat[];
  ended: number;
}

/** The requests of one endpoint that one line of code makes, each with another address. */
interface Rhythm {
  readonly by: string;
  address: string;
  readonly began: number;
  last: number;
  ended: number;
  gaps: number;
  /** Of the gaps, summed up. */
  squares: number;
  /** How many began as soon as the one before had ended. */
  waited: number;
}

/** Segments of a path that name one thing among many. */
const IDS = /\/(?:\d+|[\da-f-]{8,})(?=[/ ]|$)/g;

/** What the flights of an endpoint have in common. */
const endpointOf = (what: string): string => what.replaceAll(IDS, '/{id}');

/** Numbers that differ each time: time stamps and random numbers. */
const CHANGING = /\d{4,}|\d+\.\d+/g;

/** Parameters that only keep answers from being cached, or name a connection (as in host/internal/alike/messages.go). */
const BUSTERS =
  /(?<=^|&)(?:_|t|ts|sid|cb|rnd|rand|random|nonce|nocache|cachebust|cachebuster|timestamp)=[^&]{6,}/gi;

export class Storms {
  readonly #repeated = new Map<string, Repetition>();
  readonly #rhythms = new Map<string, Rhythm>();
  /** When the newest request of a storm ended, by what a flight is called. */
  readonly #storms = new Map<string, number>();

  /** Takes a request that has ended, and what its flight is called. */
  saw(event: NetworkEvent, what: string): void {
    if (event.resource === 'preflight') return;
    const [address = '', query = ''] = event.url.split('?', 2);
    const body = event.request_body ?? '';
    const kind = `${event.method} ${address}?${query.replaceAll(BUSTERS, '').replaceAll(CHANGING, '0')} ${body.length} ${body.slice(0, MAX_BODY)}`;
    let repetition = this.#repeated.get(kind);
    if (repetition === undefined) {
      if (this.#repeated.size >= MAX_KINDS) this.#repeated.clear();
      repetition = { beats: [], ended: 0 };
      this.#repeated.set(kind, repetition);
    }
    const ended = event.started + event.duration;
    if (add(repetition, event.started, ended)) this.#storms.set(what, ended);
    if (this.#isLoop(event, endpointOf(what), ended)) this.#storms.set(endpointOf(what), ended);
  }

  /** Takes a request, and returns whether it is one of a loop whose requests differ. */
  #isLoop({ method, url, started, stack }: NetworkEvent, endpoint: string, ended: number): boolean {
    const by = stack?.[0];
    if (method !== 'GET' || by === undefined) return false;
    const rhythm = this.#rhythms.get(endpoint);
    const gap = Math.max(0, started - (rhythm?.last ?? 0));
    if (rhythm === undefined || rhythm.by !== by || gap > STALL_MS || isTyped(rhythm.address, url)) {
      if (this.#rhythms.size >= MAX_KINDS) this.#rhythms.clear();
      const first = {
        by,
        address: url,
        began: started,
        last: started,
        ended,
        gaps: 0,
        squares: 0,
        waited: 0,
      };
      this.#rhythms.set(endpoint, first);
      return false;
    }
    const pause = started - rhythm.ended;
    if (pause >= 0 && pause <= SOON_MS) rhythm.waited++;
    rhythm.gaps++;
    rhythm.squares += gap * gap;
    rhythm.address = url;
    rhythm.last = Math.max(rhythm.last, started);
    rhythm.ended = Math.max(rhythm.ended, ended);
    const span = rhythm.last - rhythm.began;
    return (
      span >= RHYTHM_MS &&
      span <= rhythm.gaps * FAST_MS &&
      rhythm.gaps * rhythm.squares < span * span * 1.25 &&
      2 * rhythm.waited < rhythm.gaps
    );
  }

  /** Whether requests of that name are made without end at a time, in ms since the epoch. */
  goesOn(what: string, now: number): boolean {
    return [what, endpointOf(what)].some((name) => {
      const ended = this.#storms.get(name);
      if (ended === undefined) return false;
      if (now - ended <= STALL_MS) return true;
      this.#storms.delete(name);
      return false;
    });
  }

  /** Forgets all: the page is another one. */
  clear(): void {
    this.#repeated.clear();
    this.#rhythms.clear();
    this.#storms.clear();
  }
}

/** Whether one of two addresses is the other with more at its end, as somebody types it. */
function isTyped(a: string, b: string): boolean {
  return a !== b && (a.startsWith(b) || b.startsWith(a));
}

/** Adds a request to what it repeats, and returns whether that is a storm. */
function add(repetition: Repetition, began: number, ended: number): boolean {
  const { beats } = repetition;
  const gap = began - (beats.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
  if (gap >= APART_MS) {
    if (gap > STALL_MS) beats.length = 0;
    const pause = began - repetition.ended;
    beats.push({ at: began, follows: pause >= LOOP_MS[0] && pause <= LOOP_MS[1] });
    if (beats.length > BEATS) beats.shift();
  }
  repetition.ended = Math.max(repetition.ended, ended);
  const [first, ...others] = beats;
  const last = others.at(-1);
  if (first === undefined || last === undefined || beats.length < BEATS) return false;
  const mean = (last.at - first.at) / others.length;
  return mean <= FAST_MS || (mean <= SLOW_MS && others.every(({ follows }) => follows));
}
