export interface Task {
  id: string;
  title: string;
  column: string;
  note?: string;
}

const json = { 'Content-Type': 'application/json' };

async function read(answer: Response) {
  if (!answer.ok) throw new Error(`The server answered ${answer.status}`);
  return answer.json();
}

export async function listTasks(): Promise<Task[]> {
  return read(await fetch('/api/tasks'));
}

export async function getTask(id: string): Promise<Task> {
  return read(await fetch(`/api/tasks/${id}`));
}

export async function createTask(title: string, column: string): Promise<Task> {
  const body = JSON.stringify({ title, column });
  return read(await fetch('/api/tasks', { method: 'POST', headers: json, body }));
}

export async function moveTask(id: string, column: string): Promise<Task> {
  const body = JSON.stringify({ column });
  return read(await fetch(`/api/tasks/${id}`, { method: 'PATCH', headers: json, body }));
}

export async function deleteTask(id: string): Promise<void> {
  await read(await fetch(`/api/tasks/${id}`, { method: 'DELETE' }));
}
