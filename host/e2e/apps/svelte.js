import { flushSync, mount } from 'svelte';
import { createSubscriber } from 'svelte/reactivity';
import App from './App.svelte';
import { start } from './state.js';

let state;
let changed = () => {};
const subscribe = createSubscriber((update) => {
  changed = update;
});
const shown = {
  get state() {
    subscribe();
    return state;
  },
};
let mounted = false;
start((next) => {
  state = next;
  if (!mounted) mount(App, { target: document.getElementById('app'), props: { shown } });
  mounted = true;
  changed();
  flushSync();
});
