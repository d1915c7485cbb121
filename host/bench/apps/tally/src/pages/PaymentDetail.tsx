import { useEffect, useState } from 'react';
import { CommentForm } from '../components/CommentForm';
import { client, money, PAYMENT, type Payment } from '../queries';

export function PaymentDetail({ id }: { id: string }) {
  const [payment, setPayment] = useState<Payment>();
  const [failed, setFailed] = useState(false);

  useEffect(() => {
    client
      .request<{ payment: Payment }>(PAYMENT, { id })
      .then((answer) => setPayment(answer.payment))
      .catch(() => setFailed(true));
  }, [id]);

  if (failed) return <p role="alert">This payment could not be loaded</p>;
  if (!payment) return <p>Loading …</p>;
  return (
    <>
      <h1>{payment.note}</h1>
      <p>
        {payment.from} paid {payment.to} {money(payment.amount)}
      </p>
      <h2>Comments</h2>
      <ul>
        {payment.comments.map((comment) => (
          <li key={comment.id}>{`${comment.by}: ${comment.text}`}</li>
        ))}
      </ul>
      <CommentForm id={id} onDone={(comments) => setPayment({ ...payment, comments })} />
    </>
  );
}
