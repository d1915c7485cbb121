import axios from 'axios';
import { useEffect, useState } from 'react';
import type { Session } from '../machines/auth';
import { Link, useRoute } from '../router';

const onlyUnread = { unread: true };

// Bell shows how many notifications are unread.
function Bell() {
  const { path } = useRoute();
  const [unread, setUnread] = useState<{ id: string }[]>([]);
  const options = onlyUnread;

  useEffect(() => {
    axios
      .get('/api/notifications', { params: options })
      .then((answer) => setUnread(answer.data))
      .catch(() => setUnread([]));
  }, [options, path]);

  return <Link to="/notifications">Notifications ({unread.length})</Link>;
}

export function Header({ user, signOut }: { user: Session; signOut: () => void }) {
  return (
    <header>
      <nav aria-label="Main">
        <Link to="/">Payments</Link>
        <Link to="/pay">Pay</Link>
        <Bell />
        <Link to="/profile">Profile</Link>
      </nav>
      <p className="who">
        <span>{user.name}</span>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </p>
    </header>
  );
}
