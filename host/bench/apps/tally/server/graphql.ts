import { buildSchema, graphql } from 'graphql';
import { payments, type User } from './data';

const schema = buildSchema(`
  type Comment { id: ID!, by: String!, text: String! }
  type Payment { id: ID!, from: String!, to: String!, amount: Int!, note: String!, likes: Int!, comments: [Comment!]! }
  type Summary { sent: Int!, received: Int }
  type Query {
    feed(mine: Boolean, most: Int): [Payment!]!
    payment(id: ID!): Payment
    summary: Summary!
  }
  type Mutation {
    like(id: ID!): Payment!
    comment(id: ID!, text: String!): Payment!
  }
`);

function find(id: string) {
  const payment = payments.find((one) => one.id === id);
  if (!payment) throw new Error(`There is no payment ${id}`);
  return payment;
}

const root = {
  feed({ mine, most }: { mine?: boolean; most?: number }, user: User) {
    return payments
      .filter((one) => !mine || one.from === user.name || one.to === user.name)
      .filter((one) => !most || one.amount <= most);
  },
  payment: ({ id }: { id: string }) => find(id),
  summary: {
    sent(_: unknown, user: User) {
      return payments.filter((one) => one.from === user.name).reduce((sum, one) => sum + one.amount, 0);
    },
    received(_: unknown, user: User) {
      return payments.filter((one) => one.to === user.name).reduce((sum, one) => sum + one.amount, 0);
    },
  },
  like({ id }: { id: string }) {
    const payment = find(id);
    payment.likes++;
    return payment;
  },
  comment({ id, text }: { id: string; text: string }, user: User) {
    if (!text.trim()) throw new Error('A comment needs a text');
    const payment = find(id);
    payment.comments.push({ id: `c${Date.now()}`, by: user.name, text });
    return payment;
  },
};

interface Asked {
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
}

// answer is the status and the body for a GraphQL request. A query that is not valid is a bad request.
export async function answer({ query, variables, operationName }: Asked, user?: User) {
  const body = await graphql({
    schema,
    source: query,
    rootValue: root,
    contextValue: user,
    variableValues: variables,
    operationName,
  });
  return { status: body.data === undefined ? 400 : 200, body };
}
