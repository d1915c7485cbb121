export const title = (count) => `${count} items`;
