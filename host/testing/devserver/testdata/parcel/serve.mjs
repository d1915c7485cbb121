// Serves the application with Parcel's development server, and says where. It ends with its standard input.
import { Parcel } from '@parcel/core';
import { free, serves } from './port.mjs';

process.chdir(import.meta.dirname);
const port = Number(process.env.PORT) || (await free());
const bundler = new Parcel({
  entries: 'index.html',
  defaultConfig: '@parcel/config-default',
  mode: 'development',
  defaultTargetOptions: { distDir: 'dist' },
  serveOptions: { host: '127.0.0.1', port },
  hmrOptions: { host: '127.0.0.1', port },
});
await bundler.watch();
await serves(port);
process.stdin.on('end', () => process.exit(0)).resume();
