import { createApp, h, ref, shallowRef, triggerRef } from 'vue';
import { todos } from './store.js';
import { view } from './view.js';

const names = { typed: 'onInput', ticked: 'onChange', pressed: 'onKeydown' };

createApp({
  setup() {
    const list = shallowRef();
    list.value = todos(() => triggerRef(list));
    const draft = ref('');
    const set = (text) => {
      draft.value = text;
    };
    return () => view((name, { htmlFor: _, ...props }, children) => h(name, props, children), list.value, draft.value, set, names);
  },
}).mount('#app');
