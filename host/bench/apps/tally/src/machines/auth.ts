import axios from 'axios';
import { assign, fromPromise, setup } from 'xstate';

export interface Session {
  id: string;
  name: string;
  email: string;
}

interface SignInEvent {
  type: 'SIGN_IN';
  email: string;
  password: string;
}

export const authMachine = setup({
  types: {
    context: {} as { user: Session | null; message: string },
    input: {} as { user: Session | null },
    events: {} as SignInEvent | { type: 'SIGN_OUT' },
  },
  actors: {
    signIn: fromPromise(async ({ input }: { input: { email: string; password: string } }) => {
      const { data } = await axios.post<Session>('/api/session', input);
      return data;
    }),
    signOut: fromPromise(() => axios.delete('/api/session')),
  },
}).createMachine({
  id: 'auth',
  context: ({ input }) => ({ user: input.user, message: '' }),
  initial: 'ready',
  states: {
    ready: { on: { SIGN_IN: 'signingIn', SIGN_OUT: 'signingOut' } },
    signingIn: {
      invoke: {
        src: 'signIn',
        input: ({ event }) => {
          const { email, password } = event as SignInEvent;
          return { email, password };
        },
        onDone: { target: 'ready', actions: assign({ user: ({ event }) => event.output, message: '' }) },
        onError: {
          target: 'ready',
          actions: assign({
            message: ({ event }) =>
              axios.isAxiosError(event.error) ? event.error.response?.data.message : 'The server does not answer',
          }),
        },
      },
    },
    signingOut: {
      invoke: {
        src: 'signOut',
        onDone: { target: 'ready', actions: assign({ user: null }) },
        onError: 'ready',
      },
    },
  },
});
