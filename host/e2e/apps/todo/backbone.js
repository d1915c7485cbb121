import Backbone from 'backbone';
import $ from 'jquery';
import { footer, frame, item } from './markup.js';
import { todos } from './store.js';

Backbone.$ = $;

const Item = Backbone.View.extend({
  events: { 'change .toggle': 'toggle', 'click .destroy': 'gone' },
  initialize({ list }) {
    this.list = list;
    this.listenTo(this.model, 'change', this.render);
    this.render();
  },
  toggle() {
    this.list.toggle(this.model.id);
  },
  gone() {
    this.list.remove(this.model.id);
  },
  render() {
    const $new = $(item(this.model.attributes));
    if (this.el.parentNode) this.$el.replaceWith($new);
    this.setElement($new);
    return this;
  },
});

const App = Backbone.View.extend({
  events: {
    'keydown .new-todo': 'add',
    'change .toggle-all': 'all',
    'click .clear-completed': 'clear',
  },
  initialize() {
    this.$el.html(frame);
    this.views = new Map();
    this.items = new Backbone.Collection();
    this.list = todos(() => this.render());
  },
  add(event) {
    if (event.key !== 'Enter') return;
    this.list.add(event.target.value);
    event.target.value = '';
  },
  all(event) {
    this.list.toggleAll(event.target.checked);
  },
  clear() {
    this.list.clear();
  },
  render() {
    const { list } = this;
    if (list.items.length === 0) {
      this.$('.rest').empty();
      this.views.clear();
      return this;
    }
    if (this.$('.main').length === 0) {
      this.$('.rest').html(`<main class="main"><input id="toggle-all" class="toggle-all" type="checkbox">
<label for="toggle-all">Mark all as complete</label><ul class="todo-list"></ul></main><footer class="footer"></footer>`);
    }
    this.items.set(list.items);
    this.$('.toggle-all').prop('checked', list.left === 0);
    const shown = new Set(list.shown.map(({ id }) => id));
    for (const [id, view] of this.views) {
      if (shown.has(id)) continue;
      view.remove();
      this.views.delete(id);
    }
    for (const id of shown) {
      if (this.views.has(id)) continue;
      const view = new Item({ model: this.items.get(id), list });
      this.views.set(id, view);
      this.$('.todo-list').append(view.el);
    }
    this.$('.footer').html(footer(list));
    return this;
  },
});

new App({ el: document.getElementById('app') });
