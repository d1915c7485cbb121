// What all applications show, and what can happen to it. Every element says in its description which
// thing it stands for, so that a test can tell whether a reference still names the same one.

const NAMES = ['Mug', 'Lamp', 'Kettle', 'Candle', 'Blanket', 'Compass', 'Glass', 'Basket', 'Lantern'];

/** A small generator, so that a run can be repeated. */
function random(seed) {
  let a = seed >>> 0;
  return (n) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

export function start(draw) {
  let next = 1;
  const make = (name) => ({ id: next++, name, done: false, price: 10, note: '' });
  // epoch changes when everything is to be rendered anew.
  let state = { epoch: 0, alert: '', items: ['Mug', 'Lamp', 'Kettle', 'Candle', 'Glass', 'Basket'].map(make) };
  let pick = random(1);
  const at = () => pick(state.items.length);
  const change = (i, what) => state.items.map((item, j) => (j === i ? { ...item, ...what } : item));
  const actions = {
    append: () => ({ items: [...state.items, make(NAMES[pick(NAMES.length)])] }),
    insert: () => {
      const i = at();
      return { items: [...state.items.slice(0, i), make(NAMES[pick(NAMES.length)]), ...state.items.slice(i)] };
    },
    remove: () => {
      const i = at();
      return state.items.length > 3 ? { items: state.items.filter((_, j) => j !== i) } : {};
    },
    move: () => {
      const items = [...state.items];
      const [item] = items.splice(at(), 1);
      items.splice(pick(items.length + 1), 0, item);
      return { items };
    },
    toggle: () => {
      const i = at();
      return { items: change(i, { done: !state.items[i].done }) };
    },
    price: () => ({ items: change(at(), { price: pick(1000) }) }),
    rename: () => ({ items: change(at(), { name: NAMES[pick(NAMES.length)] }) }),
    type: () => ({ items: change(at(), { note: `note ${pick(1000)}` }) }),
    alert: () => ({ alert: state.alert === '' ? `Saved ${pick(100)}` : '' }),
    anew: () => ({ epoch: state.epoch + 1 }),
    // Something happens, and everything is rendered anew before anybody looks.
    both: () => {
      const other = ['append', 'insert', 'remove', 'move', 'toggle', 'price', 'rename', 'type'];
      return { ...actions[other[pick(other.length)]](), epoch: state.epoch + 1 };
    },
  };
  const kinds = Object.keys(actions);
  draw(state);
  /** Does something and says what, once it is shown. */
  window.act = async (kind) => {
    kind ||= kinds[pick(kinds.length)];
    state = { ...state, ...actions[kind]() };
    await draw(state);
    await new Promise((shown) => setTimeout(shown, 0));
    return kind;
  };
  window.seed = (seed) => {
    pick = random(seed);
  };
}
