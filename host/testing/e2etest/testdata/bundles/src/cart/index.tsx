export interface Item {
  price: number;
  count: number;
}

export function total(items: Item[]): number {
  const sum = items.reduce((all, { price, count }) => all + price * count, 0);
  if (sum < 0) console.warn('the total is negative', sum); // line 8
  return sum;
}
