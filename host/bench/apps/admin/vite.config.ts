import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { backend } from './server/plugin';

export default defineConfig({
  plugins: [react(), backend()],
  optimizeDeps: { include: ['react', 'react-dom/client', 'react/jsx-dev-runtime', 'react-admin', 'ra-data-json-server'] },
});
