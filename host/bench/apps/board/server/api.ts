import type { IncomingMessage, ServerResponse } from 'node:http';

interface Task {
  id: string;
  title: string;
  column: string;
  note: string;
}

const tasks: Task[] = [
  { id: 't1', title: 'Write the brief', column: 'todo', note: 'Two pages at most.' },
  { id: 't2', title: 'Book the venue', column: 'todo', note: '' },
  { id: 't3', title: 'Invite speakers', column: 'doing', note: 'Ask Ada first.' },
  { id: 't4', title: 'Print badges', column: 'done', note: '' },
];

// The other half of what a list does not need.
const details: Record<string, { assignee: string | null }> = { t1: { assignee: 'Ada' }, t3: { assignee: null } };

async function body(req: IncomingMessage) {
  let text = '';
  for await (const chunk of req) text += chunk;
  return text ? JSON.parse(text) : {};
}

function send(res: ServerResponse, status: number, value: unknown) {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify(value));
}

export async function handle(req: IncomingMessage, res: ServerResponse) {
  const [, , resource, id] = (req.url ?? '').split('?')[0].split('/');
  if (resource !== 'tasks') return send(res, 404, { error: `There is no ${req.url}` });
  const task = tasks.find((one) => one.id === id);
  if (id && !task) return send(res, 404, { error: `There is no task ${id}` });
  switch (`${req.method}${id ? ' one' : ''}`) {
    case 'GET':
      return send(
        res,
        200,
        tasks.map(({ id, title, column }) => ({ id, title, column })),
      );
    case 'GET one':
      return send(res, 200, { ...task, ...details[id] });
    case 'POST': {
      const { title, column } = await body(req);
      if (!title) return send(res, 422, { errors: [{ field: 'title', message: 'title is required' }] });
      const created = { id: `t${tasks.length + 1}`, title, column: column ?? 'todo', note: '' };
      tasks.push(created);
      return send(res, 201, created);
    }
    case 'PATCH one':
      return send(res, 200, Object.assign(task as Task, await body(req)));
    case 'DELETE one':
      tasks.splice(tasks.indexOf(task as Task), 1);
      return send(res, 200, {});
    default:
      return send(res, 405, { error: 'This cannot be done' });
  }
}
