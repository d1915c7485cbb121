/** Text of a page that Markdown must not read anything into. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const ticks = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(ticks + 1);
  const room = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return line === '' ? '' : `${fence}${room}${line}${room}${fence}`;
}
