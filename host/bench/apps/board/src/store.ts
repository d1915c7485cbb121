import { reactive } from 'vue';
import type { Task } from './api';

interface State {
  tasks: Task[];
  selected: string;
  online: number;
}

type Action =
  | { type: 'loaded'; tasks: Task[] }
  | { type: 'created'; task: Task }
  | { type: 'moved'; task: Task }
  | { type: 'deleted'; id: string };

export const store = reactive<State>({ tasks: [], selected: '', online: 0 });

function reduce(tasks: Task[], action: Action): Task[] {
  switch (action.type) {
    case 'loaded':
      return action.tasks;
    case 'created':
      return [...tasks, action.task];
    case 'moved':
      return tasks.map((one) => (one.id === action.task.id ? action.task : one));
    case 'deleted':
      return tasks.filter((one) => one.id !== action.id);
  }
}

export function dispatch(action: Action) {
  store.tasks = reduce(store.tasks, action);
}
