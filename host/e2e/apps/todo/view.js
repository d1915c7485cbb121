// The view of those that take elements made by a function: `text` and `checked` name the events by which the
// framework hears of typing and ticking.
import { count, filters } from './store.js';

export function view(h, list, draft, setDraft, { typed, ticked, pressed }) {
  return h('section', { class: 'todoapp' }, [
    h('header', { class: 'header', key: 'header' }, [
      h('h1', { key: 'h1' }, 'todos'),
      h('input', {
        key: 'new',
        class: 'new-todo',
        placeholder: 'What needs to be done?',
        value: draft,
        [typed]: (event) => setDraft(event.target.value),
        [pressed]: (event) => {
          if (event.key !== 'Enter') return;
          list.add(event.target.value);
          setDraft('');
        },
      }),
    ]),
    list.items.length > 0 &&
      h('main', { class: 'main', key: 'main' }, [
        h('input', {
          key: 'all',
          id: 'toggle-all',
          class: 'toggle-all',
          type: 'checkbox',
          checked: list.left === 0,
          [ticked]: (event) => list.toggleAll(event.target.checked),
        }),
        h('label', { key: 'label', for: 'toggle-all', htmlFor: 'toggle-all' }, 'Mark all as complete'),
        h(
          'ul',
          { class: 'todo-list', key: 'list' },
          list.shown.map(({ id, title, done }) =>
            h('li', { key: id, class: done ? 'completed' : '' }, [
              h('div', { class: 'view', key: 'view' }, [
                h('input', {
                  key: 'toggle',
                  class: 'toggle',
                  type: 'checkbox',
                  'aria-label': title,
                  checked: done,
                  [ticked]: () => list.toggle(id),
                }),
                h('label', { key: 'title' }, title),
                h('button', { key: 'destroy', class: 'destroy', 'aria-label': 'Delete', onClick: () => list.remove(id) }),
              ]),
            ]),
          ),
        ),
      ]),
    list.items.length > 0 &&
      h('footer', { class: 'footer', key: 'footer' }, [
        h('span', { class: 'todo-count', key: 'count' }, count(list.left)),
        h(
          'ul',
          { class: 'filters', key: 'filters' },
          Object.entries(filters).map(([hash, name]) =>
            h('li', { key: hash }, [
              h('a', { key: 'a', href: hash, class: hash === list.filter ? 'selected' : '' }, name),
            ]),
          ),
        ),
        list.left < list.items.length &&
          h('button', { key: 'clear', class: 'clear-completed', onClick: () => list.clear() }, 'Clear completed'),
      ]),
  ]);
}
