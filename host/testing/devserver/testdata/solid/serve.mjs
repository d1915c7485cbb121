import solid from 'vite-plugin-solid';
import { serve } from './vite.mjs';

await serve(solid());
