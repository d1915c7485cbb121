// The application's server: the list of items, and a failure for everything else.
export function api(request, response) {
  response.statusCode = request.url.endsWith('/items') ? 200 : 500;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify([{ name: 'pen', cents: 120 }, { name: 'ink', cents: 340 }]));
}
