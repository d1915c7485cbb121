// Serves the application with the development server of React Router, and says where. It ends with its standard input.
import { reactRouter } from '@react-router/dev/vite';
import { serve } from './vite.mjs';

process.chdir(import.meta.dirname); // where it looks for its settings
await serve(await reactRouter());
