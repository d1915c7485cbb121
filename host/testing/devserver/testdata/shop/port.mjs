// For servers that are told their port, and say nothing when they serve.
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

// Runs a server that is a command, which ends with the standard input.
export async function run(command, args, path) {
  const port = Number(process.env.PORT) || (await free());
  const child = spawn(process.execPath, [command, ...args(port)], { cwd: import.meta.dirname, stdio: ['ignore', 'ignore', 'inherit'] });
  child.on('exit', () => process.exit(0));
  process.stdin.on('end', () => child.kill()).resume();
  await serves(port, path);
}
