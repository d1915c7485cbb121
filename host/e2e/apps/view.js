// The view of those that take elements made by a function.
export function view(h, Fragment, { epoch, alert, items }) {
  const said = (text) => ({ 'aria-description': text });
  return h(
    'section',
    { key: epoch, 'aria-label': 'Cart' },
    h('h1', said('title'), `Cart (${items.length})`),
    alert === '' ? null : h('div', { role: 'alert', ...said('alert') }, alert),
    h(
      'ul',
      null,
      items.map(({ id, name, done, price, note }) =>
        h(
          'li',
          { key: id, ...said(`${id} item`) },
          h(
            'label',
            null,
            h('input', { type: 'checkbox', checked: done, onChange() {}, ...said(`${id} done`) }),
            ` ${name}`,
          ),
          h('span', null, `${price} €`),
          h('input', { 'aria-label': 'Note', value: note, onChange() {}, ...said(`${id} note`) }),
          h('button', said(`${id} remove`), 'Remove'),
        ),
      ),
    ),
    h(Fragment, null, h('button', said('order'), `Order ${items.length}`)),
  );
}
