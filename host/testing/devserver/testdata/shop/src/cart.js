export const empty = { lines: [] };

export const add = (cart, item) => ({ lines: [...cart.lines, item] });
