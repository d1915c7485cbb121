// Serves the application in the working directory with Vite's development server, on a free port of 127.0.0.1. Prints its
// address. Each line on standard input makes it forget what it transformed and loaded, the data of the application's
// server included; it answers with a line. It ends with its standard input.
import { createInterface } from 'node:readline';
import { createServer } from 'vite';

const server = await createServer({
  clearScreen: false,
  logLevel: 'silent',
  server: { host: '127.0.0.1', port: Number(process.env.PORT), strictPort: true, watch: null },
});
await server.listen();
console.log(`http://127.0.0.1:${server.config.server.port}`);
for await (const _ of createInterface({ input: process.stdin })) {
  for (const environment of Object.values(server.environments)) environment.moduleGraph.invalidateAll();
  console.log('ok');
}
await server.close();
process.exit(0);
