export default defineEventHandler((event) => {
  if (getRouterParam(event, 'name') !== 'items') setResponseStatus(event, 500);
  return [{ name: 'pen', cents: 120 }, { name: 'ink', cents: 340 }];
});
