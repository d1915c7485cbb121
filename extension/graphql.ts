/** The GraphQL operations of requests that begin. The host reads those of requests that have ended (event/answer.go). */

/** The longest body that is read, and the longest name, in characters. */
const MAX_READ = 1 << 18;
const MAX_NAME = 100;

const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/;
/** The head of a named operation in a document (https://spec.graphql.org/October2021/#sec-Language.Operations). */
const NAMED = /(?:^|[\s},])(?:query|mutation|subscription)\s+([_A-Za-z][_0-9A-Za-z]*)\s*[({@]/;
const ANY = /^(?:\s|#[^\n]*\n)*(?:\{|query\b|mutation\b|subscription\b|fragment\b)/;

/** The name of the operation that a body asks for, of a batch that of the first one; '' if it is no GraphQL, or has none. */
export function operationOf(body: string | undefined): string {
  if (body === undefined || body.length > MAX_READ) return '';
  if (!/^\s*[{[]/.test(body) || !(body.includes('"query"') || body.includes('"operationName"'))) return '';
  const name = nameOf(read(body));
  return name.length <= MAX_NAME ? name : '';
}

function nameOf(sent: Record<string, unknown>): string {
  const { operationName: name, query } = sent;
  const named = typeof name === 'string' && NAME.test(name) && name.length <= MAX_NAME;
  if (named && ('query' in sent || 'extensions' in sent || 'variables' in sent)) return name;
  if (typeof query !== 'string' || !ANY.test(query)) return '';
  return NAMED.exec(query)?.[1] ?? '';
}

/** What a body sends first. */
function read(body: string): Record<string, unknown> {
  try {
    const all: unknown = JSON.parse(body);
    const first: unknown = Array.isArray(all) ? all[0] : all;
    return typeof first === 'object' && first !== null ? (first as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
