import { useMachine } from '@xstate/react';
import { useState } from 'react';
import { feedMachine } from '../machines/feed';
import { client, LIKE, money } from '../queries';
import { Link } from '../router';

export function Feed() {
  const [state, send] = useMachine(feedMachine);
  const [most, setMost] = useState(1000);
  const { items, filter } = state.context;

  const like = async (id: string) => {
    const answer = await client.request<{ like: { id: string; likes: number } }>(LIKE, { id });
    send({ type: 'LIKED', ...answer.like });
  };
  const slide = (dollars: number) => {
    setMost(dollars);
    send({ type: 'FILTER', filter: { ...filter, most: dollars * 100 } });
  };

  return (
    <>
      <h1>Payments</h1>
      <div className="filters">
        <button
          type="button"
          aria-pressed={filter.mine}
          onClick={() => send({ type: 'FILTER', filter: { ...filter, mine: !filter.mine } })}
        >
          Only mine
        </button>
        <label>
          At most, in dollars
          <input
            type="range"
            min={10}
            max={1000}
            step={10}
            value={most}
            onChange={(event) => slide(Number(event.target.value))}
          />
        </label>
        <output>{money(most * 100)}</output>
      </div>
      {state.matches('failed') && <p role="alert">The payments could not be loaded</p>}
      <ul className="feed">
        {items.map((item) => (
          <li key={item.id}>
            <Link to={`/payments/${item.id}`}>{item.note}</Link>
            <span>{`${item.from} paid ${item.to} ${money(item.amount)}`}</span>
            <span>{`${item.likes} likes`}</span>
            <button type="button" onClick={() => like(item.id)} aria-label={`Like ${item.note}`}>
              Like
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
