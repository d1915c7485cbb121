// For servers that are told their port, and say nothing when they serve.
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export const free = () =>
  new Promise((told) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => told(port));
    });
  });

// Says where a server serves, once it does.
export async function serves(port, path = '/') {
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const answer = await fetch(url + path).catch(() => undefined);
    await answer?.text();
    if (answer?.ok) break;
    await setTimeout(100);
  }
  console.log(url);
}
