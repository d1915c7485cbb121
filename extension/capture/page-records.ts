/** Records of scripts in a page's own world. They are validated, because a page can forge them, and put in words. */
import type { PageRecord, ResourceRecord } from '../page/records';

/** Gives each record of the lists to `take`, one after the other. */
export function readRecords(lists: readonly string[], take: (record: PageRecord) => void): void {
  for (const record of lists.flatMap(readList)) {
    try {
      take(record);
    } catch {
      // A page can send anything over the hooks' channel: malformed records are dropped.
    }
  }
}

/** The records of a list; none if it is not a list. */
function readList(list: string): PageRecord[] {
  try {
    const records: unknown = JSON.parse(list.slice(list.indexOf(' ') + 1));
    return Array.isArray(records)
      ? records.filter(Array.isArray).map((record) => record as unknown as PageRecord)
      : [];
  } catch {
    return [];
  }
}

/** What an element imports that has what it asked for: the browser reports a failed import at the element. */
export function importedBy(
  [, , tag, , integrity, module]: ResourceRecord,
  mime: string,
): 'stylesheet' | 'script' | undefined {
  if (tag === 'link' && /^text\/css\b/i.test(mime)) return 'stylesheet';
  return module === true && !integrity && SCRIPT.test(mime) ? 'script' : undefined;
}

/** The MIME types of scripts: no script fails because of one. */
const SCRIPT = /^(?:text|application)\/(?:x-)?(?:java|ecma|j|live)script\b/i;

/** Says that an import failed of one of several style sheets. */
export const UNNAMED_IMPORT = 'Failed to load a style sheet that another one imports';

/** Says that an element could not use what arrived; `mime` is empty when it is not known. */
export function unusable(record: ResourceRecord, mime: string): string {
  const [, , tag, url, integrity] = record;
  switch (importedBy(record, mime)) {
    case 'stylesheet':
      return `Failed to load <${tag}> ${url}: an import of this style sheet failed`;
    case 'script':
      return `Failed to load <${tag}> ${url}: a module that it imports did not load`;
  }
  const came =
    mime === '' || (tag === 'script' && SCRIPT.test(mime)) ? '' : `: it came with the MIME type '${mime}'`;
  const hash = integrity ? `${came === '' ? ': ' : ', and '}its integrity was checked` : '';
  return `Failed to load <${tag}> ${url}${came}${hash}`;
}
