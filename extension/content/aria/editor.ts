/** What is written in an editor. */
import { clean } from '../../clean';
import { attribute, firstChildOf, nextSiblingOf, nodeTypeOf, tagOf } from '../dom';
import { BLOCKS, hiddenByMarkup } from '../text';

/** How deep what is written in an editor is read. */
const MAX_WRITTEN_DEPTH = 1000;

const NOT_WRITTEN = new Set('script style template noscript input textarea select iframe object'.split(' '));

/** What is written in an editor: its lines, as they are shown. */
export function writtenText(editor: Element): string {
  const keeps = /^(?:pre|break-spaces)/.test(getComputedStyle(editor).whiteSpace);
  const lines: string[] = [];
  let line: string | undefined;
  const end = (): void => {
    if (line !== undefined) lines.push(keeps ? line : line.trim());
    line = undefined;
  };
  const write = (text: string): void => {
    const shown = keeps ? text : clean(text).replace(/\s+/g, ' ');
    if (line !== undefined || keeps || shown.trim() !== '') line = (line ?? '') + shown;
  };
  const walk = (parent: Node, depth: number): void => {
    for (let node = firstChildOf(parent); node !== null; node = nextSiblingOf(node)) {
      const type = nodeTypeOf(node);
      if (type === Node.TEXT_NODE) write((node as Text).data);
      if (type !== Node.ELEMENT_NODE || depth > MAX_WRITTEN_DEPTH) continue;
      const tag = tagOf(node as Element);
      if (tag === 'br') {
        line ??= '';
        end();
      } else if (tag === 'img') {
        write(attribute(node as Element, 'alt'));
      } else if (!NOT_WRITTEN.has(tag) && !hiddenByMarkup(node as Element)) {
        const block = BLOCKS.has(tag) && tag !== 'button' && tag !== 'label';
        if (block) end();
        walk(node, depth + 1);
        if (block) end();
      }
    }
  };
  walk(editor, 0);
  end();
  return lines.join('\n').trim();
}
