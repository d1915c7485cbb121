import Backbone from 'backbone';
import $ from 'jquery';
import _ from 'underscore';
import { start } from './state.js';

Backbone.$ = $;

const Item = Backbone.View.extend({
  tagName: 'li',
  template: _.template(
    '<label><input type="checkbox" aria-description="<%= id %> done"><i></i></label><span></span>' +
      '<input aria-label="Note" aria-description="<%= id %> note"><button aria-description="<%= id %> remove">Remove</button>',
  ),
  initialize() {
    this.$el.attr('aria-description', `${this.model.id} item`).html(this.template(this.model.attributes));
    this.listenTo(this.model, 'change', this.render);
  },
  render() {
    const { name, done, price, note } = this.model.attributes;
    this.$('[type=checkbox]').prop('checked', done);
    this.$('i').text(` ${name}`);
    this.$('span').text(`${price} €`);
    this.$('[aria-label]').val(note);
    return this;
  },
});

const Cart = Backbone.View.extend({
  initialize() {
    this.views = new Map();
    this.items = new Backbone.Collection();
    this.$el.html(
      '<section aria-label="Cart"><h1 aria-description="title"></h1><ul></ul><button aria-description="order"></button></section>',
    );
  },
  show({ alert, items }) {
    this.items.set(items);
    this.$('h1').text(`Cart (${items.length})`);
    this.$('[aria-description=order]').text(`Order ${items.length}`);
    this.$('[role=alert]').remove();
    if (alert !== '') $('<div role="alert" aria-description="alert">').text(alert).insertAfter(this.$('h1'));
    for (const [id, view] of this.views) {
      if (this.items.get(id)) continue;
      view.remove();
      this.views.delete(id);
    }
    for (const { id } of items) {
      const view = this.views.get(id) ?? new Item({ model: this.items.get(id) }).render();
      this.views.set(id, view);
      this.$('ul').append(view.el); // everything is taken out and put in again, in order
    }
  },
});

let epoch = -1;
let cart;
start((state) => {
  if (state.epoch !== epoch) {
    epoch = state.epoch;
    cart = new Cart({ el: $('<div>').appendTo($('#app').empty()) });
  }
  cart.show(state);
});
