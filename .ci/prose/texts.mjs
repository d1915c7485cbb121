// Prints the string and template literals of TypeScript files as JSON: [{path, line, text}]. What a template fills in is
// written as Xx.
import { readFileSync } from 'node:fs';
import { parseSync } from 'vite';

const found = [];
for (const path of process.argv.slice(2)) {
  const code = readFileSync(path, 'utf8');
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null) return;
    const add = (text) => found.push({ path, line: code.slice(0, node.start).split('\n').length, text });
    if (node.type === 'Literal' && typeof node.value === 'string') add(node.value);
    if (node.type === 'TemplateLiteral') add(node.quasis.map((q) => q.value.cooked ?? q.value.raw).join('Xx'));
    if (node.type === 'JSXText') add(node.value.trim());
    // Lists of words for machines are written as "a b c".split(' ').
    const list = node.type === 'MemberExpression' && node.property.name === 'split';
    for (const [key, part] of Object.entries(node)) if (!(list && key === 'object')) visit(part);
  };
  visit(parseSync(path, code).program);
}
process.stdout.write(JSON.stringify(found));
