export interface User {
  id: string;
  name: string;
  email: string;
  phone: string;
}

export interface Comment {
  id: string;
  by: string;
  text: string;
}

export interface Payment {
  id: string;
  from: string;
  to: string;
  amount: number; // cents
  note: string;
  likes: number;
  comments: Comment[];
}

export interface Notification {
  id: string;
  text: string;
  unread: boolean;
}

export const passwords: Record<string, string> = { 'ada@example.com': 'calculus' };

export const users: User[] = [
  { id: 'u1', name: 'Ada Byron', email: 'ada@example.com', phone: '555-0100' },
  { id: 'u2', name: 'Grace Murray', email: 'grace@example.com', phone: '555-0101' },
  { id: 'u3', name: 'Edsger Wybe', email: 'edsger@example.com', phone: '555-0102' },
];

const notes = ['Lunch', 'Train tickets', 'Concert', 'Groceries', 'Rent', 'Coffee', 'Books', 'Pizza'];
const amounts = [1850, 6400, 4500, 2375, 72000, 420, 3150, 1290];

export const payments: Payment[] = notes.map((note, i) => ({
  id: `p${i + 1}`,
  from: users[i % 3].name,
  to: users[(i + 1) % 3].name,
  amount: amounts[i],
  note,
  likes: i % 4,
  comments: i % 3 === 0 ? [{ id: `c${i}`, by: users[2].name, text: 'Thanks!' }] : [],
}));

export const notifications: Notification[] = [
  { id: 'n1', text: 'Grace Murray liked your payment', unread: true },
  { id: 'n2', text: 'Edsger Wybe paid you $45.00', unread: true },
  { id: 'n3', text: 'Your profile is complete', unread: false },
];
