import { html, LitElement, nothing } from 'lit';
import { live } from 'lit/directives/live.js';
import { repeat } from 'lit/directives/repeat.js';
import { count, filters, todos } from './store.js';

// A web component: all of it is in a shadow root.
class TodoApp extends LitElement {
  list = todos(() => this.requestUpdate());

  add(event) {
    if (event.key !== 'Enter') return;
    this.list.add(event.target.value);
    event.target.value = '';
  }

  render() {
    const { list } = this;
    return html`<section class="todoapp">
      <header class="header">
        <h1>todos</h1>
        <input class="new-todo" placeholder="What needs to be done?" @keydown=${this.add} />
      </header>
      ${
        list.items.length === 0
          ? nothing
          : html`<main class="main">
              <input
                id="toggle-all"
                class="toggle-all"
                type="checkbox"
                .checked=${live(list.left === 0)}
                @change=${(event) => list.toggleAll(event.target.checked)}
              />
              <label for="toggle-all">Mark all as complete</label>
              <ul class="todo-list">
                ${repeat(
                  list.shown,
                  ({ id }) => id,
                  ({ id, title, done }) => html`<li class=${done ? 'completed' : ''}>
                    <div class="view">
                      <input
                        class="toggle"
                        type="checkbox"
                        aria-label=${title}
                        .checked=${live(done)}
                        @change=${() => list.toggle(id)}
                      />
                      <label>${title}</label>
                      <button class="destroy" aria-label="Delete" @click=${() => list.remove(id)}></button>
                    </div>
                  </li>`,
                )}
              </ul>
            </main>
            <footer class="footer">
              <span class="todo-count">${count(list.left)}</span>
              <ul class="filters">
                ${Object.entries(filters).map(
                  ([hash, name]) =>
                    html`<li><a href=${hash} class=${hash === list.filter ? 'selected' : ''}>${name}</a></li>`,
                )}
              </ul>
              ${
                list.left < list.items.length
                  ? html`<button class="clear-completed" @click=${() => list.clear()}>Clear completed</button>`
                  : nothing
              }
            </footer>`
      }
    </section>`;
  }
}

customElements.define('todo-app', TodoApp);
document.getElementById('app').append(document.createElement('todo-app'));
