import { type FormEvent, useState } from 'react';

interface Props {
  busy: boolean;
  message: string;
  signIn: (email: string, password: string) => void;
}

export function SignIn({ busy, message, signIn }: Props) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn(email, password);
  };
  return (
    <main>
      <h1>Tally</h1>
      <form onSubmit={submit}>
        <label>
          E-mail
          <input value={email} onChange={(event) => setEmail(event.target.value)} autoComplete="username" />
        </label>
        <label>
          Password
          <input
            type="password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            autoComplete="current-password"
          />
        </label>
        <button type="submit" disabled={busy}>
          Sign in
        </button>
        {message && <p role="alert">{message}</p>}
      </form>
    </main>
  );
}
