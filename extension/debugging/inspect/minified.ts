/** Recognizes code that was minified, by how it is written: what a person separates by spaces and lines is not separated. */
import { codeOf, isText } from './depths';

/** How far around a place the code is looked at, in UTF-16 units. */
const AROUND = 2000;
/** How many separated or joined parts are enough to tell. */
const ENOUGH = 30;

const OPERATOR = '(?:=>|[=!]==?|&&|\\|\\||\\?\\?|[-+*]?=)';
/** What minifiers join, and people separate. */
const JOINED = new RegExp(
  `,(?=[A-Za-z_$])|;(?=[^\\s)])|\\)\\{|\\}(?=[\\w$])|(?<=[\\w$)\\]])${OPERATOR}(?=[^\\s=])|:(?=[\\w$"])`,
  'g',
);
/** The same with what separates it, and indented lines. */
const SEPARATED = new RegExp(
  `,(?=\\s)|;(?=[ \\t])|\\) \\{|\\} (?=[\\w$])| ${OPERATOR}(?=\\s)|: (?=[\\w$"])|\\n[ \\t]+(?=\\S)`,
  'g',
);

/** Whether the code at an offset, which is in no text, was minified, however little of it there is. */
export function isMinified(source: string, at: number): boolean {
  const first = at - AROUND;
  const last = Math.min(source.length, at + AROUND);
  // The rest of the line tells more of the code than what follows, and that more than what is before it: a line may begin
  // in a text. Where the place would be in a text, it does, and little that is read from there tells nothing.
  let minified = false;
  let from = at;
  let to = at;
  for (;;) {
    const line = from < 2 ? 0 : source.lastIndexOf('\n', from - 2) + 1;
    if (to < last) to = Math.min(last, lineEnd(source, to));
    else from = line;
    const code = codeOf(source, from, to);
    const joined = count(code, JOINED);
    const separated = count(code, SEPARATED);
    const ends = to === last && (from === 0 || line < first);
    if (joined + separated >= ENOUGH) return joined > separated;
    if (from === 0 || !isText(source, from, at)) minified = joined > separated;
    if (ends) return minified;
  }
}

/** Where the line at an offset ends, with its line feed. */
function lineEnd(source: string, at: number): number {
  const end = source.indexOf('\n', at);
  return end < 0 ? source.length : end + 1;
}

function count(code: string, pattern: RegExp): number {
  return code.match(pattern)?.length ?? 0;
}
