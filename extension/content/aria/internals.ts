/** Roles, names and states that custom elements have through their internals, as attributes that are not written on them. */
import { give, matches } from '../dom';

/** The answers of elements, and the attributes in them. */
const answers = new WeakMap<Element, string>();
const attributes = new WeakMap<Element, Readonly<Record<string, string>>>();
/** Those that were asked once they were defined, which is when internals are attached, and have none. */
const without = new WeakSet<Element>();

const ask = (element: Element): string | undefined =>
  (globalThis as { tidemarkAttributes?: (of: Element) => string | undefined }).tidemarkAttributes?.(element);

/** Whether an element may have internals. */
export function isCustom(tag: string): boolean {
  return tag.includes('-');
}

/** What a custom element has through its internals now, in one string, which is taken in; "" for nothing. */
export function readInternals(element: Element): string {
  if (without.has(element)) return '';
  const isKnown = answers.has(element);
  if (!isKnown && !matches(element, ':defined')) return '';
  const answer = ask(element) ?? '';
  if (!isKnown && answer === '') without.add(element);
  if (answer === (answers.get(element) ?? '')) return answer;
  answers.set(element, answer);
  try {
    attributes.set(element, JSON.parse(answer === '' ? '{}' : answer) as Record<string, string>);
  } catch {
    return answer; // a page can forge it
  }
  give(element, (of, name) => {
    const value = attributes.get(of)?.[name];
    return typeof value === 'string' ? value : undefined;
  });
  return answer;
}
