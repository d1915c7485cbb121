import { assign, fromPromise, setup } from 'xstate';
import { client, FEED, type Payment } from '../queries';

export interface Filter {
  mine: boolean;
  most: number; // cents, 0 for all
}

type FeedEvent = { type: 'FILTER'; filter: Filter } | { type: 'LIKED'; id: string; likes: number };

export const feedMachine = setup({
  types: {
    context: {} as { items: Payment[]; filter: Filter },
    events: {} as FeedEvent,
  },
  actors: {
    load: fromPromise(async ({ input }: { input: Filter }) => {
      const { feed } = await client.request<{ feed: Payment[] }>(FEED, { ...input });
      return feed;
    }),
  },
}).createMachine({
  id: 'feed',
  context: { items: [], filter: { mine: false, most: 0 } },
  initial: 'loading',
  states: {
    loading: {
      invoke: {
        src: 'load',
        input: ({ context }) => context.filter,
        onDone: { target: 'ready', actions: assign({ items: ({ event }) => event.output }) },
        onError: 'failed',
      },
    },
    ready: {
      on: {
        LIKED: {
          actions: assign({
            items: ({ context, event }) =>
              context.items.map((item) => (item.id === event.id ? { ...item, likes: event.likes } : item)),
          }),
        },
      },
    },
    failed: {},
  },
  on: {
    FILTER: { target: '.loading', reenter: true, actions: assign({ filter: ({ event }) => event.filter }) },
  },
});
