import { serve } from './vite.mjs';

process.chdir(import.meta.dirname); // where React Router looks for its settings
await serve();
