import { h, render } from 'preact';
import { useMemo, useReducer, useState } from 'preact/hooks';
import { todos } from './store.js';
import { view } from './view.js';

const names = { typed: 'onInput', ticked: 'onChange', pressed: 'onKeyDown' };

function App() {
  const [, again] = useReducer((n) => n + 1, 0);
  const list = useMemo(() => todos(again), []);
  const [draft, setDraft] = useState('');
  return view((name, { htmlFor: _, ...props }, children) => h(name, props, children), list, draft, setDraft, names);
}

render(h(App), document.getElementById('app'));
