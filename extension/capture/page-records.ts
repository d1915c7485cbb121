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

/** Whether an element has what it asked for, a style sheet: the browser reports a failed import of the sheet at the link. */
export function importFailed(tag: string, mime: string): boolean {
  return tag === 'link' && /^text\/css\b/i.test(mime);
}

/** Says that an import failed of one of several style sheets. */
export const UNNAMED_IMPORT = 'Failed to load a style sheet that another one imports';

/** Says that an element could not use what arrived; `mime` is empty when it is not known. */
export function unusable([, , tag, url, integrity]: ResourceRecord, mime: string): string {
  if (importFailed(tag, mime)) return `Failed to load <${tag}> ${url}: an import of this style sheet failed`;
  const came = mime === '' ? '' : `: it came with the MIME type '${mime}'`;
  const hash = integrity ? `${came === '' ? ': ' : ', and '}its integrity was checked` : '';
  return `Failed to load <${tag}> ${url}${came}${hash}`;
}
