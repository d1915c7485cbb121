/**
 * Finds the code of an element that covers or hides another: the markup that a framework's development build recorded
 * in the page's elements, and the rule of the style sheet.
 *
 * Nothing of the page is run: the debugger reads properties and tells accessors and proxies as what they are. All that
 * it reads is the page's, and may be anything. It is read only when an action was refused.
 */
import type { Protocol } from 'devtools-protocol';
import { causeLines, parseStack } from '../../capture/stack';
import { cutWhole } from '../../cut';
import type { Blame } from '../../messages';
import { type ActBlame, type ActNode, MaxShort, MaxStack } from '../../protocol';
import { askFrame, namedBy } from './ask';
import { type Compiled, creates, type Fields, fieldsOf, MAX_CODE, placeIn, renderOf } from './function-code';
import { inPage } from './in-page';
import type { Sessions, TabSend } from './sessions';

/** How long all of it may take, in ms. */
const MOST_MS = 2000;
/** How many elements upwards, and how many components outwards, are looked at. */
const MAX_UP = 6;
const MAX_OUT = 25;
/** The longest name of a file, in UTF-16 units. */
const MAX_FILE = MaxShort / 2;
/** What a file of an installed package has in its path. */
const LIBRARY = /[\\/]node_modules[\\/]/;
/** The group of the page's objects that are held meanwhile. */
const GROUP = 'tidemark-made-by';

type Code = Omit<ActBlame, 'element' | 'style'>;
/** A property of an element, or of a pseudo-element of it. */
type Declared = { property: string; pseudo: string | undefined };

/** What is blamed, with as much of its code as could be found in time. */
export async function madeBy(
  sessions: Pick<Sessions, 'frame' | 'listen'>,
  tab: number,
  send: TabSend | undefined,
  path: readonly ActNode[],
  blame: Blame,
): Promise<ActBlame> {
  const { element, pseudo, property, value } = blame;
  const style = property === '' ? '' : `${property}: ${value}`;
  const known: ActBlame = { ...(style !== '' && { style }), ...(element !== undefined && { element }) };
  if (send === undefined) return known;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, MOST_MS);
  });
  // What fails, or comes too late, leaves out a part of the answer.
  const found = find(sessions, tab, send, path, { property, pseudo }, known).catch(() => undefined);
  await Promise.race([found, over]);
  clearTimeout(timer);
  return { ...known };
}

async function find(
  sessions: Pick<Sessions, 'frame' | 'listen'>,
  tab: number,
  top: TabSend,
  path: readonly ActNode[],
  declared: Declared,
  into: ActBlame,
): Promise<void> {
  const node = path.at(-1);
  const of = node === undefined ? { ms: 0 } : { ...namedBy(node), ms: 0 };
  const held: TabSend[] = [];
  // A tab's top frame has the path of one element, whatever that is.
  const at = node === undefined ? [{ frame: 0, document: '', id: 0 }] : path;
  const ancestor = async (blamed: number): Promise<{ send: TabSend; objectId: string }> => {
    const call = async (around: readonly ActNode[], key: string): Promise<void> => {
      const last = around.at(-1);
      const inner = around.length === at.length || last === undefined;
      const ask = inner ? { ...of, blamed } : { ...namedBy(last), ms: 0 };
      await askFrame(tab, last?.frame ?? 0, { do: 'call', key, ...ask });
    };
    const found = await inPage(sessions, tab, top, at, call, GROUP);
    held.push(found.send);
    return found;
  };
  try {
    const { send, objectId } = await ancestor(0);
    let code = await codeOf(send, objectId);
    for (let up = 1; up <= MAX_UP && code === undefined; up++) {
      const outer = await ancestor(up).catch(() => undefined);
      if (outer === undefined) break;
      code = await codeOf(outer.send, outer.objectId);
      if (code !== undefined) into.outer = true;
    }
    Object.assign(into, code);
    if (send === top && declared.property !== '')
      Object.assign(into, await ruleOf(sessions, tab, send, objectId, declared));
  } finally {
    for (const send of new Set(held)) {
      void send('Runtime.releaseObjectGroup', { objectGroup: GROUP }).catch(() => undefined);
    }
  }
}

/** Whether the page formats stacks itself: then looking at an object that holds an error would run the page's code. */
async function formatsStacks(send: TabSend, objectId: string): Promise<boolean> {
  const { result, exceptionDetails } = await send('Runtime.callFunctionOn', {
    objectId,
    functionDeclaration: 'function () { return Error }',
    objectGroup: GROUP,
    throwOnSideEffect: true,
  });
  if (exceptionDetails !== undefined || result.objectId === undefined || result.subtype === 'proxy')
    return true;
  const own = await send('Runtime.getProperties', { objectId: result.objectId, ownProperties: true });
  const format = own.result.find(({ name }) => name === 'prepareStackTrace');
  return format !== undefined && (format.value === undefined || format.value.type === 'function');
}

/** What a framework recorded in an element. */
async function codeOf(send: TabSend, objectId: string): Promise<Code | undefined> {
  if (await formatsStacks(send, objectId)) return undefined;
  const fields = await fieldsOf(send, { type: 'object', objectId });
  const svelte = fields.get('__svelte_meta');
  if (svelte !== undefined) return await ofSvelte(send, svelte);
  for (const [name, value] of fields)
    if (/^__react(?:Fiber|InternalInstance)\$/.test(name)) return await ofReact(send, value);
  let vnode = await fieldsOf(send, fields.get('__vnode'));
  let instance = vnode.get('ctx') ?? fields.get('__vueParentComponent');
  // The root of a component may know its component, and that of the outermost one around it.
  for (let i = 0; i < MAX_OUT && vnode.get('component')?.objectId !== undefined; i++) {
    instance = vnode.get('component');
    vnode = await fieldsOf(send, (await fieldsOf(send, instance)).get('subTree'));
  }
  return instance === undefined ? undefined : await ofVue(send, instance, vnode);
}

/** A file and a line, if they can be ones and are not a library's. */
function place(file: unknown, line: unknown): Code | undefined {
  if (typeof file !== 'string' || file === '' || file.length > MAX_FILE || LIBRARY.test(file))
    return undefined;
  return { file, ...(Number.isSafeInteger(line) && (line as number) > 0 && { line: line as number }) };
}

async function ofSvelte(send: TabSend, meta: Protocol.Runtime.RemoteObject): Promise<Code | undefined> {
  const loc = await fieldsOf(send, (await fieldsOf(send, meta)).get('loc'));
  return place(loc.get('file')?.value, loc.get('line')?.value);
}

/** The element's own code, or that of the components that created it, from the inside out. */
async function ofReact(send: TabSend, fiber: Protocol.Runtime.RemoteObject): Promise<Code | undefined> {
  const lines: string[] = [];
  let at: Protocol.Runtime.RemoteObject | undefined = fiber;
  for (let i = 0; i < MAX_OUT && lines.length < MaxStack && at !== undefined; i++) {
    const fields: Fields = await fieldsOf(send, at);
    const source = fields.get('_debugSource');
    if (source?.objectId !== undefined) {
      const said = await fieldsOf(send, source);
      const found = place(said.get('fileName')?.value, said.get('lineNumber')?.value);
      if (found !== undefined) return { ...found, ...(await linesOf(send, fields, found, said)) };
    }
    const stack = fields.get('_debugStack');
    if (stack?.subtype === 'error' && stack.description !== undefined) {
      // Below the component is React itself.
      const [own = ''] = stack.description
        .slice(0, MAX_CODE)
        .split(/\n[^\n]*react[-_]stack[-_]bottom[-_]frame/);
      lines.push(...causeLines(parseStack(own)).filter((line) => !LIBRARY.test(line)));
    }
    const owner: Protocol.Runtime.RemoteObject | undefined = fields.get('_debugOwner');
    at = owner?.objectId === undefined ? undefined : owner;
  }
  return lines.length === 0 ? undefined : { stack: lines.slice(0, MaxStack) };
}

/**
 * The place in the code that runs for what React says of an element: its line is that of the code which the JSX was compiled
 * from, and another plugin may have made that.
 */
async function linesOf(send: TabSend, fiber: Fields, { line }: Code, said: Fields): Promise<Code> {
  if (line === undefined) return {};
  const owner = await fieldsOf(send, fiber.get('_debugOwner'));
  const render = await renderOf(send, owner.get('type'));
  const index = creates(render?.description ?? '', line, said.get('columnNumber')?.value);
  const found = render === undefined || index < 0 ? undefined : await placeIn(send, render, index);
  return found ?? { unsure: true };
}

/** The component that has the element in its template, and the place of the element in what that was compiled to. */
async function ofVue(
  send: TabSend,
  inner: Protocol.Runtime.RemoteObject,
  vnode: Fields,
): Promise<Code | undefined> {
  let at: Protocol.Runtime.RemoteObject | undefined = inner;
  for (let i = 0; i < MAX_OUT && at !== undefined; i++) {
    const instance: Fields = await fieldsOf(send, at);
    const type = await fieldsOf(send, instance.get('type'));
    const found = place(type.get('__file')?.value, undefined);
    const tag: unknown = vnode.get('type')?.value;
    if (found !== undefined && (i > 0 || typeof tag !== 'string')) return found;
    if (found !== undefined) {
      return { ...found, ...(await compiled(send, type.get('render'), tag as string, instance, vnode)) };
    }
    const parent: Protocol.Runtime.RemoteObject | undefined = instance.get('parent');
    at = parent?.objectId === undefined ? undefined : parent;
  }
  return undefined;
}

/** Where a function for rendering creates an element; undefined if several places may. */
async function compiled(
  send: TabSend,
  render: Protocol.Runtime.RemoteObject | undefined,
  tag: string,
  instance: Fields,
  vnode: Fields,
): Promise<Compiled | undefined> {
  const code = render?.description;
  if (render?.type !== 'function' || render.objectId === undefined || code === undefined) return undefined;
  if (code.length > MAX_CODE) return undefined;
  const places = [...code.matchAll(/\b_?create(?:Element|Base)?(?:Block|VNode)\(\s*"([\w-]+)"/g)];
  const same = places.filter(([, name]) => name === tag);
  const [first] = same;
  // The root of a template is created first.
  if (first === undefined || (same.length > 1 && !(await isRoot(send, instance, vnode)))) return undefined;
  return await placeIn(send, render, first.index);
}

/** Whether the element is what its component renders as a whole. */
async function isRoot(send: TabSend, instance: Fields, vnode: Fields): Promise<boolean> {
  const rendered = await fieldsOf(send, instance.get('subTree'));
  const [objectId, other] = [rendered.get('el')?.objectId, vnode.get('el')?.objectId];
  if (objectId === undefined || other === undefined) return false;
  const { result } = await send('Runtime.callFunctionOn', {
    objectId,
    functionDeclaration: 'function (other) { return this === other }',
    arguments: [{ objectId: other }],
    returnByValue: true,
  });
  return result.value === true;
}

/** The rule that gives an element, or its pseudo-element, a property, and where that is. The domains are enabled only meanwhile. */
async function ruleOf(
  sessions: Pick<Sessions, 'listen'>,
  tab: number,
  send: TabSend,
  objectId: string,
  { property, pseudo }: Declared,
): Promise<Code | undefined> {
  const sheets = new Map<string, Protocol.CSS.CSSStyleSheetHeader>();
  const ignore = sessions.listen(tab, (method, params) => {
    if (method !== 'CSS.styleSheetAdded') return;
    const { header } = params as Protocol.CSS.StyleSheetAddedEvent;
    sheets.set(header.styleSheetId, header);
  });
  try {
    await send('DOM.enable');
    await send('DOM.getDocument', { depth: 0 });
    await send('CSS.enable');
    const { nodeId } = await send('DOM.requestNode', { objectId });
    const matched = await send('CSS.getMatchedStylesForNode', { nodeId });
    const ofPseudo = matched.pseudoElements?.find(({ pseudoType }) => `::${pseudoType}` === pseudo);
    const [matches = [], inlineStyle] =
      pseudo === undefined ? [matched.matchedCSSRules, matched.inlineStyle] : [ofPseudo?.matches];
    const has = (style: Protocol.CSS.CSSStyle | undefined): Protocol.CSS.CSSProperty | undefined =>
      style?.cssProperties.find(
        ({ name, disabled, parsedOk }) => sets(name, property) && disabled !== true && parsedOk !== false,
      );
    const rules = matches.map(({ rule }) => rule).filter(({ style }) => has(style) !== undefined);
    const important = rules.filter(({ style }) => has(style)?.important === true);
    const rule = (important.length > 0 ? important : rules).at(-1);
    if (has(inlineStyle) !== undefined && important.length === 0) return { rule: 'style attribute' };
    if (rule === undefined || rule.origin !== 'regular') return undefined;
    const said = { rule: cutWhole(rule.selectorList.text, MAX_FILE) };
    const sheet = sheets.get(rule.styleSheetId ?? '');
    if (sheet === undefined) return said;
    return { ...said, ...(await sheetOf(send, sheet, has(rule.style)?.range ?? rule.style.range)) };
  } finally {
    ignore();
    await send('CSS.disable').catch(() => undefined);
    await send('DOM.disable').catch(() => undefined);
  }
}

/** Whether a declaration gives a property its value. */
function sets(name: string, property: string): boolean {
  return name === property || (property === 'overflow' && /^overflow-[xy]$/.test(name));
}

/**
 * The file of a style sheet. A line in the sheet is one in the file only if the sheet is the whole file as written. Of one
 * with a source map it is a place in what the file was compiled to.
 */
async function sheetOf(
  send: TabSend,
  { sourceURL, sourceMapURL = '', ownerNode, isInline, startLine }: Protocol.CSS.CSSStyleSheetHeader,
  range: Protocol.CSS.SourceRange | undefined,
): Promise<Code> {
  const map = /^([^?#:]+)\.map$/.exec(sourceMapURL)?.[1] ?? '';
  // A sheet that a script inserts has no address, but its map is named after the file.
  let file = sourceURL || map.replace(/^.*\//, '');
  let compiled = map !== '';
  let whole = sourceMapURL === '';
  let block = 0;
  if (ownerNode !== undefined) {
    const { node } = await send('DOM.describeNode', { backendNodeId: ownerNode });
    const { attributes = [] } = node;
    const at = attributes.findIndex((name, i) => i % 2 === 0 && name === 'data-vite-dev-id');
    if (at >= 0) {
      const [path = '', query = ''] = (attributes[at + 1] ?? '').split('?');
      file = path;
      compiled = false;
      if (/\btype=style\b/.test(query)) block = Number(/\bindex=(\d+)/.exec(query)?.[1] ?? 0) + 1;
      else whole &&= path.endsWith('.css');
    }
  }
  if (file === '' || file.length > MAX_FILE) return {};
  if (range === undefined || !(whole || compiled)) return { sheet: file };
  return {
    sheet: file,
    sheet_line: range.startLine + 1 + (isInline ? startLine : 0),
    ...(compiled && { sheet_column: range.startColumn + 1 }),
    ...(block > 0 && { sheet_block: block }),
  };
}
