import { createElement as h, Fragment } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { start } from './state.js';
import { view } from './view.js';

const root = createRoot(document.getElementById('app'));
start((state) => flushSync(() => root.render(view(h, Fragment, state))));
