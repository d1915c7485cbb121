import { sveltekit } from '@sveltejs/kit/vite';
import { serve } from './vite.mjs';

process.chdir(import.meta.dirname); // where SvelteKit looks for its settings
await serve(await sveltekit());
