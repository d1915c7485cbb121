import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { backend } from './server/plugin';

export default defineConfig({
  appType: 'custom',
  plugins: [react(), backend()],
  optimizeDeps: {
    include: ['axios', 'graphql-request', 'react', 'react-dom/client', 'react/jsx-dev-runtime', 'xstate', '@xstate/react'],
  },
});
