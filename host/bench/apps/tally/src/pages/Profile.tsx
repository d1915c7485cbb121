import axios from 'axios';
import { type FormEvent, useEffect, useState } from 'react';
import { client, money, SUMMARY } from '../queries';

interface Form {
  name: string;
  phone: string;
}

export function Profile() {
  const [form, setForm] = useState<Form>({ name: '', phone: '' });
  const [left, setLeft] = useState<number>();
  const [summary, setSummary] = useState<{ sent: number; received: number }>();
  const [saved, setSaved] = useState(false);

  useEffect(() => {
    const load = async () => {
      const profile = await axios.get('/api/profile');
      setForm(profile.data);
      const limits = await axios.get('/api/limits');
      setLeft(limits.data.month - profile.data.spent.month);
    };
    load();
    client
      .request<{ summary: { sent: number; received: number } }>(SUMMARY)
      .then((answer) => setSummary(answer.summary))
      .catch(() => setSummary(undefined));
  }, []);

  const save = async (event: FormEvent) => {
    event.preventDefault();
    const { name, phone } = form;
    await axios.patch('/api/profile', { name, phone });
    setSaved(true);
  };

  return (
    <>
      <h1>Profile</h1>
      <p>{left === undefined ? 'Loading …' : `${money(left)} left this month`}</p>
      {summary && (
        <p>
          Sent {money(summary.sent)}, received {money(summary.received)}
        </p>
      )}
      <form onSubmit={save}>
        <label>
          Name
          <input value={form.name} onChange={(event) => setForm({ ...form, name: event.target.value })} />
        </label>
        <label>
          Phone
          <input value={form.phone} onChange={(event) => setForm({ ...form, phone: event.target.value })} />
        </label>
        <button type="submit">Save</button>
      </form>
      {saved && <p role="status">Your profile is saved</p>}
    </>
  );
}
