import react from '@vitejs/plugin-react';
import { serve } from './vite.mjs';

await serve(react());
