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

/** Says that an element could not use what arrived; `mime` is empty when it is not known. */
export function unusable([, , tag, url, integrity]: ResourceRecord, mime: string): string {
  const came = mime === '' ? '' : `: it came with the MIME type '${mime}'`;
  const hash = integrity ? `${came === '' ? ': ' : ', and '}its integrity was checked` : '';
  return `Failed to load <${tag}> ${url}${came}${hash}`;
}
