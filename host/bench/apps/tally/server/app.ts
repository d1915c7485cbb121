import type { IncomingMessage } from 'node:http';
import express from 'express';
import { notifications, passwords, payments, users } from './data';
import { answer } from './graphql';

export const app = express();
app.use(express.json());

// sessionOf is the user of a request, by its cookie.
export function sessionOf(req: IncomingMessage) {
  const id = /\btally=(\w+)/.exec(req.headers.cookie ?? '')?.[1];
  return users.find((user) => user.id === id);
}

app.post('/api/session', (req, res) => {
  const { email, password } = req.body;
  const user = users.find((one) => one.email === email);
  if (!user || passwords[user.email] !== password) {
    res.status(401).json({ message: 'Wrong e-mail or password' });
    return;
  }
  res.cookie('tally', user.id, { httpOnly: true }).json(user);
});

app.delete('/api/session', (_req, res) => {
  res.clearCookie('tally').status(204).end();
});

app.use((req, res, next) => {
  if (sessionOf(req)) next();
  else res.status(401).json({ message: 'Sign in first' });
});

app.get('/api/notifications', (req, res) => {
  const unread = req.query.unread === 'true';
  res.json(notifications.filter((one) => !unread || one.unread));
});

app.delete('/api/notifications/:id', (req, res) => {
  const at = notifications.findIndex((one) => one.id === req.params.id);
  if (at >= 0) notifications.splice(at, 1);
  res.status(204).end();
});

app.get('/api/users', (req, res) => {
  res.json(users.filter((one) => one.id !== sessionOf(req)?.id));
});

app.get('/api/profile', (req, res) => {
  const { id, ...profile } = sessionOf(req) ?? users[0];
  setTimeout(() => res.json({ ...profile, spent: { month: 12450 } }), 150);
});

app.patch('/api/profile', (req, res) => {
  const user = sessionOf(req) ?? users[0];
  Object.assign(user, { name: req.body.name, phone: req.body.phone });
  res.json(user);
});

app.get('/api/limits', (_req, res) => {
  res.json({ month: 250000 });
});

app.post('/api/payments', (req, res) => {
  const { to, amount, note } = req.body;
  if (!Number.isInteger(amount) || amount <= 0) {
    res.status(422).json({ message: 'amount must be a positive whole number of cents', field: 'amount' });
    return;
  }
  const payment = {
    id: `p${payments.length + 1}`,
    from: sessionOf(req)?.name ?? '',
    to: users.find((one) => one.id === to)?.name ?? '',
    amount,
    note,
    likes: 0,
    comments: [],
  };
  payments.unshift(payment);
  res.status(201).json(payment);
});

app.post('/graphql', async (req, res) => {
  const { status, body } = await answer(req.body, sessionOf(req));
  res.status(status).json(body);
});
