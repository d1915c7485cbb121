import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import english from './_locales/en/messages.json';
import { many, type TextKey, t } from './text';

const sources = import.meta.glob<string>(
  ['./**/*.{ts,tsx}', '../web/**/*.{ts,tsx}', './manifest.json', '!./dist/**', '!../web/dashboard/dist/**'],
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
);

test('numbers choose their word, and values are filled in', () => {
  expect(many('errors', 1)).toBe('1 error');
  expect(many('errors', 2)).toBe('2 errors');
  expect(t('fromTo', 'a', 'b')).toBe('From a to b');
});

test('every text is used, each counted one has both forms, and placeholders are in order', () => {
  const files = Object.values(sources).join('\n');
  for (const [key, { message }] of Object.entries(english)) {
    const stem = key.replace(/_(one|other)$/, '');
    expect(
      files.includes(`'${stem}'`) || files.includes(`"${stem}"`) || files.includes(`__MSG_${key}__`),
      key,
    ).toBe(true);
    if (key !== stem) expect(`${stem}_one` in english && `${stem}_other` in english, key).toBe(true);
    const numbers = [...message.matchAll(/\$(\d)/g)].map(([, n]) => Number(n));
    expect(new Set(numbers).size, key).toBe(Math.max(0, ...numbers));
  }
  expect(t('clean' satisfies TextKey)).toBe('clean');
});

/** Code whose texts a person reads; the worker's other texts are the host's and its agents'. */
const read =
  /^\.\/(popup|panel|sidepanel|devtools)\/|^\.\.\/web\/|^\.\/background\/(badge|listing|popup|port|tabs|viewer)\.ts$/;

/** What is read by machines, wherever it stands: attributes and the arguments of calls. */
const machine =
  /^(class|className|style|d|viewBox|stroke-dasharray|href|src|for|id|key|type|role|lang|name)$/;
const lookups = /^(t|many|querySelector|querySelectorAll|closest|matches|getElementById|matchMedia|mark)$/;

interface Node {
  type: string;
  [key: string]: unknown;
}

/** The literals of a file that a person would read. */
function literals(path: string, code: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown, shown: boolean): void => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one, shown);
      return;
    }
    if (typeof node !== 'object' || node === null) return;
    const { type, ...parts } = node as Node;
    const say = (text: string): void => {
      const words = shown ? /\p{L}{2}/u : /\p{L}{2,}[,;:]? \p{L}/u;
      // Of a page that is made here: neither tags nor styles.
      const bare = text.replace(/<[^>]*>?|[^{}]*\{[^}]*\}/g, ' ').trim();
      if (
        words.test(bare) &&
        !(bare in english || `${bare}_other` in english) &&
        !/^(Tidemark|console\.)$/.test(bare)
      )
        found.push(`${path}: ${bare}`);
    };
    switch (type) {
      case 'ImportDeclaration':
      case 'TSLiteralType':
        return;
      case 'JSXText':
        say(String(parts.value));
        return;
      case 'JSXAttribute': {
        const { name } = parts.name as { name: string };
        if (machine.test(name)) return;
        visit(parts.value, /^(title|alt|placeholder|label|aria-label|aria-description)$/.test(name));
        return;
      }
      case 'JSXElement':
        visit(parts.openingElement, false);
        visit(parts.children, true);
        return;
      case 'CallExpression': {
        const { name, property } = parts.callee as { name?: string; property?: { name: string } };
        if (!lookups.test(name ?? property?.name ?? '')) visit(parts.arguments, false);
        visit(parts.callee, false);
        return;
      }
      case 'BinaryExpression': // what is compared is not shown
      case 'MemberExpression':
        return;
      case 'Property':
        visit(parts.value, false);
        return;
      case 'ConditionalExpression':
        visit([parts.consequent, parts.alternate], shown);
        return;
      case 'LogicalExpression':
        visit(parts.right, shown);
        return;
      case 'Literal':
        if (typeof parts.value === 'string') say(parts.value);
        return;
      case 'TemplateElement':
        say((parts.value as { raw: string }).raw);
        return;
    }
    for (const part of Object.values(parts)) visit(part, shown && !/Function|Statement/.test(type));
  };
  visit(parseSync(path, code).program, false);
  return found;
}

test('what a person reads comes from _locales', () => {
  expect(
    literals('./popup/x.tsx', '<p title="Undo">{on ? "on hold" : x}Set</p>; f("It is gone")'),
  ).toHaveLength(4);
  const files = Object.entries(sources).filter(([path]) => read.test(path) && !path.includes('.test.'));
  expect(files.length).toBeGreaterThan(40);
  expect(files.flatMap(([path, code]) => literals(path, code))).toEqual([]);
});
