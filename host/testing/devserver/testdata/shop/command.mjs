// Runs a development server that is a command, and says where it serves. Both end with the standard input.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export const free = () =>
  new Promise((told) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => told(port));
    });
  });

export async function run(command, args, path = '/') {
  const port = Number(process.env.PORT) || (await free());
  const child = spawn(process.execPath, [command, ...args(port)], { cwd: import.meta.dirname, stdio: ['ignore', 'ignore', 'inherit'] });
  const end = () => child.kill();
  child.on('exit', () => process.exit(1));
  process.stdin.on('end', end).resume();
  await serves(port, path);
}

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
