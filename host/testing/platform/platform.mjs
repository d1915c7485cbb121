// Reads cases from stdin, each an element in a page, and prints what three say of the element, as JSON: the tree
// of Tidemark's content script, the browser's own tree, and Playwright.
//
//   node platform.mjs DIRECTORY CHROMIUM
//
// The directory has playwright-core among its packages. Standard input is {"script", "cases"}.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const [directory, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(join(directory, 'package.json'))('playwright-core');
const { script, cases } = JSON.parse(await text(process.stdin));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
const devtools = await page.context().newCDPSession(page);
await devtools.send('Accessibility.enable');
await page.setContent('<!doctype html><title>Cases</title>');
await page.evaluate((source) => {
  /** Shows a case, and returns its element. */
  globalThis.show = (html) => {
    document.body.setHTMLUnsafe(html);
    const find = (root) => {
      for (const element of root.querySelectorAll('*')) {
        if (element.hasAttribute('case')) return element;
        const inside = element.shadowRoot === null ? null : find(element.shadowRoot);
        if (inside !== null) return inside;
      }
      return null;
    };
    const element = find(document);
    element.removeAttribute('case');
    element.setAttribute('data-key', 'case');
    return element;
  };
  new Function(source)();
}, script);

/** What the tree of the content script says of the elements: their lines, and the text in them. */
const inTree = await page.evaluate(async (cases) => {
  const seen = [];
  for (const { html } of cases) {
    globalThis.show(html);
    const { nodes } = JSON.parse(await globalThis.tidemarkAria([], '[masked]', 5000, false));
    const byId = new Map(nodes.map((node) => [node.i, node]));
    const node = nodes.find(({ k }) => k?.split(' ').includes('data-key=case'));
    const textIn = (of) => (of.c ?? []).map((id) => said(byId.get(id))).join(' ');
    const said = (of) => (of.r === 'text' ? of.n : (of.n ?? textIn(of)));
    seen.push(
      node === undefined
        ? { role: '', name: '', description: '', states: '', text: '' }
        : { role: node.r, name: node.n ?? '', description: node.d ?? '', states: (node.s ?? []).join(' '), text: textIn(node) },
    );
  }
  return seen;
}, cases);

/** What the browser's own accessibility tree says of the element that is shown. */
async function browsers(html) {
  const { result } = await devtools.send('Runtime.evaluate', { expression: `show(${JSON.stringify(html)})` });
  const { objectId } = result;
  const { nodes } = await devtools.send('Accessibility.getPartialAXTree', { objectId, fetchRelatives: false });
  const [node] = nodes;
  if (node === undefined || node.ignored) return { role: 'none', name: '', description: '' };
  const { role, name, description } = node;
  return { role: role.value, name: name?.value ?? '', description: description?.value ?? '' };
}

/** What Playwright's assertions read of the element that is shown, as far as the case says what it is. */
async function playwright({ role, name, description }) {
  const element = page.locator('[data-key=case]');
  const read = async (expression, wanted) => {
    if (wanted === '*') return '';
    const answer = await element._expect(expression, { expectedText: [{ string: '\u0000' }], isNot: false, timeout: 1 });
    return String(answer.received?.value ?? answer.received ?? '');
  };
  return {
    role: await read('to.have.role', role),
    name: await read('to.have.accessible.name', name),
    description: await read('to.have.accessible.description', description),
  };
}

const found = [];
for (const [i, one] of cases.entries())
  found.push({ tidemark: inTree[i], chromium: await browsers(one.html), playwright: await playwright(one) });
await browser.close();
process.stdout.write(JSON.stringify(found));
