import { useEffect, useState } from 'react';

// useLive says whether the server's news arrive.
export function useLive() {
  const [connected, setConnected] = useState(0);

  useEffect(() => {
    const socket = new WebSocket(`ws://${window.location.host}/live`);
    socket.onmessage = () => setConnected((before) => before + 1);
    return () => socket.close();
  }, []);

  return connected > 0;
}
