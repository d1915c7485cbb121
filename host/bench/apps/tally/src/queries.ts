import { GraphQLClient, gql } from 'graphql-request';

export interface Payment {
  id: string;
  from: string;
  to: string;
  amount: number; // cents
  note: string;
  likes: number;
  comments: { id: string; by: string; text: string }[];
}

export const client = new GraphQLClient(
  typeof window === 'undefined' ? 'http://127.0.0.1/graphql' : `${window.location.origin}/graphql`,
);

export const money = (cents: number) => `$${(cents / 100).toFixed(2)}`;

export const FEED = gql`
  query Feed($mine: Boolean, $most: Int) {
    feed(mine: $mine, most: $most) {
      id
      from
      to
      amount
      note
      likes
    }
  }
`;

export const PAYMENT = gql`
  query Payment($id: ID!) {
    payment(id: $id) {
      id
      from
      to
      amount
      note
      comments {
        id
        by
        text
      }
    }
  }
`;

export const SUMMARY = gql`
  query Summary {
    summary {
      sent
      received
    }
  }
`;

export const LIKE = gql`
  mutation Like($id: ID!) {
    like(id: $id) {
      id
      likes
    }
  }
`;

export const COMMENT = gql`
  mutation Comment($id: ID!, $text: String!) {
    comment(id: $id, text: $text) {
      id
      comments {
        id
        by
        text
      }
    }
  }
`;
