import { createElement, useMemo, useReducer, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { todos } from './store.js';
import { view } from './view.js';

const names = { typed: 'onChange', ticked: 'onChange', pressed: 'onKeyDown' };
const h = (name, { class: className, for: _, ...props }, children) =>
  createElement(name, { ...props, ...(className && { className }) }, children);

function App() {
  const [, again] = useReducer((n) => n + 1, 0);
  const list = useMemo(() => todos(again), []);
  const [draft, setDraft] = useState('');
  return view(h, list, draft, setDraft, names);
}

createRoot(document.getElementById('app')).render(createElement(App));
