import { html, nothing, render } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { live } from 'lit/directives/live.js';
import { repeat } from 'lit/directives/repeat.js';
import { start } from './state.js';

const item = ({ id, name, done, price, note }) => html`<li aria-description="${id} item">
  <label><input type="checkbox" .checked=${live(done)} aria-description="${id} done" /> ${name}</label>
  <span>${price} €</span>
  <input aria-label="Note" .value=${live(note)} aria-description="${id} note" />
  <button aria-description="${id} remove">Remove</button>
</li>`;

const view = ({ epoch, alert, items }) =>
  keyed(
    epoch,
    html`<section aria-label="Cart">
      <h1 aria-description="title">Cart (${items.length})</h1>
      ${alert === '' ? nothing : html`<div role="alert" aria-description="alert">${alert}</div>`}
      <ul>
        ${repeat(items, ({ id }) => id, item)}
      </ul>
      <button aria-description="order">Order ${items.length}</button>
    </section>`,
  );

start((state) => render(view(state), document.getElementById('app')));
