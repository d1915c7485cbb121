import { store } from './store';

let failures = 0;

// connect keeps a connection to the server, and tries again later and later when it is lost.
export function connect() {
  const socket = new WebSocket(`ws://${window.location.host}/live?v=2`);
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.type === 'hello') store.online = message.online;
    failures = 0;
  };
  socket.onclose = () => {
    failures++;
    setTimeout(connect, 1000 * 2 ** failures);
  };
}
