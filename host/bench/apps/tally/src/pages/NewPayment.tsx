import axios from 'axios';
import { type FormEvent, useEffect, useState } from 'react';
import { money } from '../queries';

export function NewPayment() {
  const [people, setPeople] = useState<{ id: string; name: string }[]>([]);
  const [to, setTo] = useState('');
  const [amount, setAmount] = useState('');
  const [note, setNote] = useState('');
  const [said, setSaid] = useState<{ failed: boolean; text: string }>();

  useEffect(() => {
    axios
      .get('/api/users')
      .then((answer) => setPeople(answer.data))
      .catch(() => setPeople([]));
  }, []);

  const pay = async (event: FormEvent) => {
    event.preventDefault();
    const payment = {
      to,
      note,
      amount: Math.round(Number(amount) * 100),
    };
    try {
      const { data } = await axios.post('/api/payments', payment);
      setSaid({ failed: false, text: `You paid ${data.to} ${money(data.amount)}` });
    } catch {
      setSaid({ failed: true, text: 'The payment was refused' });
    }
  };

  return (
    <>
      <h1>Pay</h1>
      <form onSubmit={pay}>
        <label>
          To
          <select value={to} onChange={(event) => setTo(event.target.value)}>
            <option value="">Choose</option>
            {people.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Amount
          <input inputMode="decimal" value={amount} onChange={(event) => setAmount(event.target.value)} />
        </label>
        <label>
          Note
          <input value={note} onChange={(event) => setNote(event.target.value)} />
        </label>
        <button type="submit">Pay now</button>
      </form>
      {said && <p role={said.failed ? 'alert' : 'status'}>{said.text}</p>}
    </>
  );
}
