// What breaks is one line, whoever calls it.
export function total(cart) {
  return cart.items.reduce((sum, item) => sum + item.cents, 0);
}

export const pay = () => total({ pens: [] });
