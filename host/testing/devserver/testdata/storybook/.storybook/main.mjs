import react from '@vitejs/plugin-react';
import { api } from '../api.mjs';

const routes = {
  name: 'api',
  configureServer(server) {
    server.middlewares.use('/api', api);
  },
};

export default {
  stories: ['../src/*.stories.jsx'],
  framework: '@storybook/react-vite',
  core: { disableTelemetry: true, disableWhatsNewNotifications: true },
  viteFinal: (config) => ({ ...config, plugins: [routes, react(), ...config.plugins] }),
};
