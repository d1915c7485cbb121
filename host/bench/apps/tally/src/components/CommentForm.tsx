import { type FormEvent, useCallback, useState } from 'react';
import { COMMENT, client, type Payment } from '../queries';

export function CommentForm({ id, onDone }: { id: string; onDone: (comments: Payment['comments']) => void }) {
  const [text, setText] = useState('');
  const [failed, setFailed] = useState(false);

  const send = useCallback(
    async (event: FormEvent) => {
      event.preventDefault();
      try {
        const { comment } = await client.request<{ comment: Payment }>(COMMENT, { id, text });
        onDone(comment.comments);
        setText('');
        setFailed(false);
      } catch {
        setFailed(true);
      }
    },
    [id, text, onDone],
  );

  return (
    <form onSubmit={send}>
      <label>
        Comment
        <input value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="submit">Add comment</button>
      {failed && <p role="alert">Your comment was not saved</p>}
    </form>
  );
}
