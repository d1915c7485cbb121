// Serves pages whose clients of Socket.IO have one script each. It prints its address and ends with its input.
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const clients = {
  '/path.js': `
const socket = io({ path: '/sockets', reconnectionDelay: 50, reconnectionDelayMax: 50, timeout: 1000 });
`,
  '/socket.js': `
function join() {
  return io({ path: '/sockets', transports: ['websocket'], reconnectionDelay: 50, reconnectionDelayMax: 50 });
}
join();
`,
  '/token.js': `
// signs in
io({ auth: { token: 'old' } });
`,
  '/room.js': `

io({ auth: { token: 'old' }, transports: ['websocket'] });
`,
};

const server = createServer((request, answer) => {
  const script = clients[request.url];
  if (script !== undefined) {
    answer.setHeader('content-type', 'text/javascript').end(script);
    return;
  }
  if (clients[`${request.url}.js`] === undefined) {
    answer.writeHead(404).end();
    return;
  }
  answer.setHeader('content-type', 'text/html');
  answer.end(`<!doctype html><title>chat</title><link rel="icon" href="data:,">
<script src="/socket.io/socket.io.js"></script><script src="${request.url}.js"></script>`);
});

new Server(server, { destroyUpgradeTimeout: 50 }).use((socket, next) => {
  next(socket.handshake.auth.token === 'old' ? new Error('the token has expired') : undefined);
});

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit()).resume();
