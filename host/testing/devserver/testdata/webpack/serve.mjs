// Serves the application with webpack's development server, and says where. It ends with its standard input.
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import ReactRefreshPlugin from '@pmmmwh/react-refresh-webpack-plugin';
import webpack from 'webpack';
import WebpackDevServer from 'webpack-dev-server';
import { api } from './api.mjs';

const resolve = createRequire(import.meta.url).resolve;
const compiler = webpack({
  mode: 'development',
  context: import.meta.dirname,
  entry: './src/main.jsx',
  devtool: 'cheap-module-source-map',
  output: { filename: 'main.js', publicPath: '/' },
  infrastructureLogging: { stream: new Writable({ write: (_chunk, _encoding, done) => done() }) }, // what the page logs stays
  stats: 'none',
  module: {
    rules: [
      {
        test: /\.jsx?$/,
        exclude: /node_modules/,
        loader: resolve('swc-loader'),
        options: {
          swcrc: false,
          jsc: { parser: { syntax: 'ecmascript', jsx: true }, target: 'es2022', transform: { react: { runtime: 'automatic', development: true, refresh: true } } },
        },
      },
      { test: /\.css$/, use: [resolve('style-loader'), resolve('css-loader')] },
    ],
  },
  plugins: [new ReactRefreshPlugin()],
});
const server = new WebpackDevServer(
  {
    host: '127.0.0.1',
    port: process.env.PORT ?? 'auto',
    hot: true,
    static: { directory: import.meta.dirname, watch: false },
    setupMiddlewares: (middlewares) => [
      { path: '/api', middleware: api },
      ...middlewares,
    ],
  },
  compiler,
);
await server.start();
console.log(`http://127.0.0.1:${server.server.address().port}`);
process.stdin.on('end', () => process.exit(0)).resume();
