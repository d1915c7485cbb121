import axios from 'axios';
import { useEffect, useState } from 'react';

interface Notification {
  id: string;
  text: string;
}

export function Notifications() {
  const [items, setItems] = useState<Notification[]>([]);
  const [failed, setFailed] = useState(false);
  const [dismissed, setDismissed] = useState(0);

  useEffect(() => {
    axios
      .get('/api/notifications')
      .then((answer) => setItems(answer.data))
      .catch(() => setFailed(true));
  }, []);

  const dismiss = async (id: string) => {
    await axios.delete(`/api/notifications/${id}`);
    setItems((before) => before.filter((one) => one.id !== id));
    setDismissed((before) => before + 1);
  };

  return (
    <>
      <h1>Notifications</h1>
      {failed && <p role="alert">The notifications could not be loaded</p>}
      <ul>
        {items.map((one) => (
          <li key={one.id}>
            {one.text}
            <button type="button" onClick={() => dismiss(one.id)} aria-label={`Dismiss ${one.text}`}>
              Dismiss
            </button>
          </li>
        ))}
      </ul>
      {dismissed > 0 && <p role="status">{`${dismissed} dismissed`}</p>}
    </>
  );
}
