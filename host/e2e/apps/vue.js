import { createApp, h, nextTick, shallowRef } from 'vue';
import { start } from './state.js';

const shown = shallowRef();
const said = (text) => ({ 'aria-description': text });
let mounted = false;

const App = () => {
  const { epoch, alert, items } = shown.value;
  return h('section', { key: epoch, 'aria-label': 'Cart' }, [
    h('h1', said('title'), `Cart (${items.length})`),
    alert === '' ? null : h('div', { role: 'alert', ...said('alert') }, alert),
    h(
      'ul',
      items.map(({ id, name, done, price, note }) =>
        h('li', { key: id, ...said(`${id} item`) }, [
          h('label', [h('input', { type: 'checkbox', checked: done, ...said(`${id} done`) }), ` ${name}`]),
          h('span', `${price} €`),
          h('input', { 'aria-label': 'Note', value: note, ...said(`${id} note`) }),
          h('button', said(`${id} remove`), 'Remove'),
        ]),
      ),
    ),
    h('button', said('order'), `Order ${items.length}`),
  ]);
};

start((state) => {
  shown.value = state;
  if (!mounted) createApp(App).mount('#app');
  mounted = true;
  return nextTick();
});
