import $ from 'jquery';
import { start } from './state.js';

const row = ({ id }) =>
  $('<li>', { 'aria-description': `${id} item` }).append(
    $('<label>').append($('<input>', { type: 'checkbox', 'aria-description': `${id} done` }), '<i></i>'),
    '<span></span>',
    $('<input>', { 'aria-label': 'Note', 'aria-description': `${id} note` }),
    $('<button>', { 'aria-description': `${id} remove`, text: 'Remove' }),
  );

let epoch = -1;
let rows = new Map();

start((state) => {
  if (state.epoch !== epoch) {
    epoch = state.epoch;
    rows = new Map();
    $('#app').html(
      '<section aria-label="Cart"><h1 aria-description="title"></h1><ul></ul><button aria-description="order"></button></section>',
    );
  }
  $('h1').text(`Cart (${state.items.length})`);
  $('[aria-description=order]').text(`Order ${state.items.length}`);
  if (state.alert === '') $('[role=alert]').remove();
  else if ($('[role=alert]').length > 0) $('[role=alert]').text(state.alert);
  else $('<div role="alert" aria-description="alert">').text(state.alert).insertAfter('h1');
  const here = new Set(state.items.map(({ id }) => id));
  for (const [id, $row] of rows) {
    if (here.has(id)) continue;
    $row.remove();
    rows.delete(id);
  }
  state.items.forEach((item, i) => {
    const $row = rows.get(item.id) ?? row(item);
    rows.set(item.id, $row);
    const there = $('ul').children().get(i);
    if (there === undefined) $('ul').append($row);
    else if (there !== $row[0]) $row.insertBefore(there);
    $row.find('[type=checkbox]').prop('checked', item.done);
    $row.find('i').text(` ${item.name}`);
    $row.find('span').text(`${item.price} €`);
    $row.find('[aria-label]').val(item.note);
  });
});
