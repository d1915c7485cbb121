import { serve } from './next.mjs';

await serve({ turbopack: true });
