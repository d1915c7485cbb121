// What every to-do list keeps, as TodoMVC has it: the view and its events are each framework's own.

export const filters = { '#/': 'All', '#/active': 'Active', '#/completed': 'Completed' };

/** A list of to-dos that is saved with every change; `changed` is called after each. */
export function todos(changed) {
  let next = 1;
  let items = [];
  const set = (now) => {
    items = now;
    changed();
    void fetch('/api/todos', { method: 'PUT', body: JSON.stringify(items) });
  };
  addEventListener('hashchange', changed);
  return {
    get items() {
      return items;
    },
    get filter() {
      return location.hash in filters ? location.hash : '#/';
    },
    get shown() {
      const done = { '#/active': false, '#/completed': true }[this.filter];
      return items.filter((item) => done === undefined || item.done === done);
    },
    get left() {
      return items.filter(({ done }) => !done).length;
    },
    add(title) {
      if (title.trim() !== '') set([...items, { id: next++, title: title.trim(), done: false }]);
    },
    toggle(id) {
      set(items.map((item) => (item.id === id ? { ...item, done: !item.done } : item)));
    },
    toggleAll(done) {
      set(items.map((item) => ({ ...item, done })));
    },
    remove(id) {
      set(items.filter((item) => item.id !== id));
    },
    clear() {
      set(items.filter(({ done }) => !done));
    },
  };
}

export const count = (left) => `${left} ${left === 1 ? 'item' : 'items'} left`;
