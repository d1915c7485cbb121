import vue from '@vitejs/plugin-vue';
import { serve } from './vite.mjs';

await serve(vue());
