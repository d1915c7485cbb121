import { useEffect, useState } from 'react';

// useLive says whether the server's news arrive.
export function useLive() {
  const [connected, setConnected] = useState(0);

  useEffect(() => {
    let socket: WebSocket | undefined;
    const soon = setTimeout(() => {
      socket = new WebSocket(`ws://${window.location.host}/live`);
      socket.onmessage = () => setConnected((before) => before + 1);
    });
    return () => {
      clearTimeout(soon);
      socket?.close();
    };
  }, []);

  return connected > 0;
}
