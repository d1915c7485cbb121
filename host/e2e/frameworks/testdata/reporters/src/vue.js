import { createApp, h, ref } from 'vue';
import { pay, total } from './cart.js';

const Sum = { props: ['cart'], render: (props) => h('p', total(props.cart)) };

createApp({
  setup() {
    const cart = ref();
    return () => [
      h('button', { onClick: pay }, 'Pay'),
      h('button', { onClick: async () => await Promise.resolve().then(pay) }, 'Pay later'),
      h('button', { onClick: () => { cart.value = {}; } }, 'Show'),
      cart.value && h(Sum, { cart: cart.value }),
    ];
  },
}).mount('main');
