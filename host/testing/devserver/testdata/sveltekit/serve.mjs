// Serves the application with SvelteKit's development server, and says where. It ends with its standard input.
import { sveltekit } from '@sveltejs/kit/vite';
import { serve } from './vite.mjs';

process.chdir(import.meta.dirname); // where it looks for its settings
await serve(await sveltekit());
