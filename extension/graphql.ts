/** The GraphQL operations of requests that begin. The host reads those of requests that have ended (event/answer.go). */

/** The longest body that is read, and the longest name, in characters. */
const MAX_READ = 1 << 18;
const MAX_NAME = 100;

const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/;
/** The head of a named operation in a document (https://spec.graphql.org/October2021/#sec-Language.Operations). */
const NAMED = /(?:^|[\s},])(?:query|mutation|subscription)\s+([_A-Za-z][_0-9A-Za-z]*)\s*[({@]/;
const ANY = /^(?:\s|#[^\n]*\n)*(?:\{|query\b|mutation\b|subscription\b|fragment\b)/;

/** How many operations of a batch are read. */
const MAX_BATCH = 1000;

/** The name of the operation that a body asks for, of a batch those of all; '' if it is no GraphQL, or has none. */
export function operationOf(body: string | undefined): string {
  if (body === undefined || body.length > MAX_READ) return '';
  if (!/^\s*[{[]/.test(body) || !(body.includes('"query"') || body.includes('"operationName"'))) return '';
  const names = read(body)
    .map(nameOf)
    .filter((name) => name !== '' && name.length <= MAX_NAME);
  return joined([...new Set(names)].sort());
}

/** The names for which there is room, and how many others there are. */
function joined(names: string[]): string {
  let name = '';
  for (const [i, next] of names.entries()) {
    if (i > 0 && name.length + next.length + '+9999'.length > MAX_NAME) return `${name}+${names.length - i}`;
    name += i > 0 ? `+${next}` : next;
  }
  return name;
}

function nameOf(sent: Record<string, unknown>): string {
  const { operationName: name, query } = sent;
  const named = typeof name === 'string' && NAME.test(name) && name.length <= MAX_NAME;
  if (named && ('query' in sent || 'extensions' in sent || 'variables' in sent)) return name;
  if (typeof query !== 'string' || !ANY.test(query)) return '';
  return NAMED.exec(query)?.[1] ?? '';
}

/** The objects that a body sends. */
function read(body: string): Record<string, unknown>[] {
  try {
    const all: unknown = JSON.parse(body);
    const list: unknown[] = Array.isArray(all) ? all.slice(0, MAX_BATCH) : [all];
    return list.filter((sent): sent is Record<string, unknown> => typeof sent === 'object' && sent !== null);
  } catch {
    return [];
  }
}
