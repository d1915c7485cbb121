type Props = Record<string, unknown> | null;

/** Just enough of JSX for a page. */
export function h(what: string | ((props: never) => HTMLElement), props: Props, ...children: unknown[]): HTMLElement {
  if (typeof what === 'function') return what((props ?? {}) as never);
  const element = Object.assign(document.createElement(what), props);
  element.append(...children.map(String));
  return element;
}
