import { Fragment, h, render } from 'preact';
import { start } from './state.js';
import { view } from './view.js';

start((state) => render(view(h, Fragment, state), document.getElementById('app')));
