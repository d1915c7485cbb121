import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'vite';
import { backend } from './server/plugin';

export default defineConfig({
  plugins: [vue(), backend()],
  optimizeDeps: { include: ['vue'] },
});
