/**
 * What the variables of a frame are called in the files that its code was made of. A minifier shortens names; by which
 * name a value is shown, and whether that names a secret, the source map says, which the host has.
 */
import type { Protocol } from 'devtools-protocol';
import { isSecretKey } from '../../redact/redact';
import { depthsOf } from './depths';

/** What is known of a variable's name. */
export interface Binding {
  /** How the code that runs calls it. */
  readonly generated: string;
  /** How it is shown. */
  readonly name: string;
  /** Whether one of the names that it may have is that of a secret. */
  readonly secret: boolean;
  /** Whether its texts are masked because its original name is unknown. */
  readonly doubtful: boolean;
}

/** How many places of a name are asked about. */
const MAX_PLACES = 12;
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

/** A range of a script; lines and columns count from 0. */
export interface Range {
  readonly start: Protocol.Debugger.Location;
  readonly end: Protocol.Debugger.Location;
}

/**
 * The positions of possible variable names in a source between two offsets. Those in the fewest brackets come first: a
 * function within may give a variable of its own the same name.
 */
export function placesOf(
  source: string,
  names: ReadonlySet<string>,
  from: number,
  to: number,
): Map<string, number[]> {
  const found = new Map<string, { at: number; depth: number }[]>();
  const depths = depthsOf(source, from, to);
  let next = depths.next();
  let depth = 0;
  NAME.lastIndex = from;
  for (let match = NAME.exec(source); match !== null && match.index < to; match = NAME.exec(source)) {
    for (; next.done !== true && next.value.at <= match.index; next = depths.next()) ({ depth } = next.value);
    const [name] = match;
    if (!names.has(name)) continue;
    const places = found.get(name) ?? [];
    const before = places.findIndex((place) => place.depth > depth);
    if (before < 0 && places.length >= MAX_PLACES) continue;
    if (isProperty(source, match.index, match.index + name.length)) continue;
    places.splice(before < 0 ? places.length : before, 0, { at: match.index, depth });
    found.set(name, places.slice(0, MAX_PLACES));
  }
  return new Map([...found].map(([name, places]) => [name, places.map(({ at }) => at)]));
}

/** Whether a name is that of a property: behind a dot that is none of three, or before a colon in an object. */
function isProperty(source: string, from: number, to: number): boolean {
  const before = /(\.\.\.|\?\.|.)\s*$/s.exec(source.slice(Math.max(0, from - 20), from))?.[1] ?? '';
  if (before === '.' || before === '?.' || before === '#') return true;
  return (before === '{' || before === ',') && /^\s*:/.test(source.slice(to, to + 20));
}

/** What is known of names, by the names that a map gives the places of each; undefined where there is no such map. */
export function bindingsOf(
  names: Iterable<string>,
  known: ReadonlyMap<string, readonly string[]> | undefined,
  minified: boolean,
): Map<string, Binding> {
  const all = new Map<string, Binding>();
  for (const generated of names) {
    const called = [...new Set((known?.get(generated) ?? []).filter((name) => name !== ''))];
    all.set(generated, {
      generated,
      name: called[0] ?? generated,
      secret: [generated, ...called].some(isSecretKey),
      doubtful: minified && known === undefined && generated.length <= 2,
    });
  }
  return all;
}

/** An expression by the names that its variables have in the project's files; what may be a secret is called one. */
export function translated(expression: string, bindings: Iterable<Binding>): string {
  const names = new Map<string, string[]>();
  for (const { generated, name, secret, doubtful } of bindings) {
    names.set(generated, [...(names.get(generated) ?? []), secret || doubtful ? `${name} password` : name]);
  }
  return expression.replace(NAME, (word, at: number) =>
    isProperty(expression, at, at + word.length) ? word : (names.get(word)?.join(' ') ?? word),
  );
}
