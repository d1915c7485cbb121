import { serve } from './next.mjs';

await serve({ webpack: true });
