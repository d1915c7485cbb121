/** @jsxRuntime classic */
/** @jsx h */
import { App } from './App';
import { h } from './h';

document.body.append(<App items={[{ price: -2, count: 3 }]} />);
