import { useMachine } from '@xstate/react';
import { Header } from './components/Header';
import { authMachine, type Session } from './machines/auth';
import { Feed } from './pages/Feed';
import { NewPayment } from './pages/NewPayment';
import { Notifications } from './pages/Notifications';
import { PaymentDetail } from './pages/PaymentDetail';
import { Profile } from './pages/Profile';
import { SignIn } from './pages/SignIn';
import { Router, useRoute } from './router';

function Page() {
  const { path } = useRoute();
  const payment = /^\/payments\/(p\d+)$/.exec(path);
  if (payment) return <PaymentDetail id={payment[1]} />;
  switch (path) {
    case '/pay':
      return <NewPayment />;
    case '/notifications':
      return <Notifications />;
    case '/profile':
      return <Profile />;
    default:
      return <Feed />;
  }
}

export function App({ session, path }: { session: Session | null; path: string }) {
  const [state, send] = useMachine(authMachine, { input: { user: session } });
  if (!state.context.user) {
    return (
      <SignIn
        busy={state.matches('signingIn')}
        message={state.context.message}
        signIn={(email, password) => send({ type: 'SIGN_IN', email, password })}
      />
    );
  }
  return (
    <Router path={path}>
      <Header user={state.context.user} signOut={() => send({ type: 'SIGN_OUT' })} />
      <main>
        <Page />
      </main>
    </Router>
  );
}
