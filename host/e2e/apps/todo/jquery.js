import $ from 'jquery';
import { frame, rest } from './markup.js';
import { todos } from './store.js';

const $app = $('#app').html(frame);
const list = todos(() => $app.find('.rest').html(rest(list)));
const id = (element) => $(element).closest('li').data('id');

$app
  .on('keydown', '.new-todo', (event) => {
    if (event.key !== 'Enter') return;
    list.add(event.target.value);
    $(event.target).val('');
  })
  .on('change', '.toggle', (event) => list.toggle(id(event.target)))
  .on('change', '.toggle-all', (event) => list.toggleAll(event.target.checked))
  .on('click', '.destroy', (event) => list.remove(id(event.target)))
  .on('click', '.clear-completed', () => list.clear());
