/**
 * What custom elements say of themselves through their internals, which only the page's own world may read: roles, names and
 * states, as if they were attributes. The content script asks an element by an event that nobody else knows the name of.
 */
import type { Channel } from './channel';
import { call, hookMethod } from './disguise';
import { append, getter, listen, ownKeys, slice } from './natives';
import { ATTRIBUTES } from './records';

const quote = JSON.stringify as (text: string) => string;

export function hookInternals(channel: Channel): void {
  const said: [attribute: string, get: (internals: unknown) => unknown][] = [];
  for (const name of ownKeys(ElementInternals.prototype)) {
    const attribute = attributeOf(name);
    if (attribute !== '') append(said, [attribute, getter(ElementInternals.prototype, name as string)]);
  }
  const attributes = (internals: unknown): string => {
    let all = '';
    for (let i = 0; i < said.length; i++) {
      const [attribute, get] = said[i] as (typeof said)[number];
      const value = get(internals);
      if (typeof value === 'string') all += `${all === '' ? '{' : ','}${quote(attribute)}:${quote(value)}`;
    }
    return all === '' ? '{}' : `${all}}`;
  };
  const asked = channel.named(ATTRIBUTES);
  hookMethod(HTMLElement.prototype, 'attachInternals', (native) => (self, args) => {
    const internals = call(native, self, args);
    listen(self, asked, () => channel.answer(ATTRIBUTES, attributes(internals)));
    return internals;
  });
}

/** The attribute that a property stands for; "" for one that is none, or refers to elements. */
function attributeOf(property: string | symbol): string {
  if (property === 'role') return 'role';
  if (typeof property !== 'string' || !/^aria[A-Z](?!.*Elements?$)/.test(property)) return '';
  return `aria-${slice(property, 4).toLowerCase()}`;
}
