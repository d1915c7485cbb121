// The view of those that render text: everything below the field is made anew with every change.
import { count, filters } from './store.js';

export const frame = `<section class="todoapp"><header class="header"><h1>todos</h1>
<input class="new-todo" placeholder="What needs to be done?"></header><div class="rest"></div></section>`;

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

export const item = ({ id, title, done }) => `<li data-id="${id}" class="${done ? 'completed' : ''}"><div class="view">
<input class="toggle" type="checkbox" aria-label="${escaped(title)}"${done ? ' checked' : ''}>
<label>${escaped(title)}</label><button class="destroy" aria-label="Delete"></button></div></li>`;

export const footer = (list) => `<span class="todo-count">${count(list.left)}</span><ul class="filters">
${Object.entries(filters)
  .map(([hash, name]) => `<li><a href="${hash}" class="${hash === list.filter ? 'selected' : ''}">${name}</a></li>`)
  .join('')}</ul>
${list.left < list.items.length ? '<button class="clear-completed">Clear completed</button>' : ''}`;

export const rest = (list) =>
  list.items.length === 0
    ? ''
    : `<main class="main"><input id="toggle-all" class="toggle-all" type="checkbox"${list.left === 0 ? ' checked' : ''}>
<label for="toggle-all">Mark all as complete</label><ul class="todo-list">${list.shown.map(item).join('')}</ul></main>
<footer class="footer">${footer(list)}</footer>`;
