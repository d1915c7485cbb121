import preact from '@preact/preset-vite';
import { serve } from './vite.mjs';

await serve(preact());
