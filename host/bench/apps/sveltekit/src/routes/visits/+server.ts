import { json } from '@sveltejs/kit';

let visits = 0;

export function GET() {
	visits++;
	return json({ visits });
}
