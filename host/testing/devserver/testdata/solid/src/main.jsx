import { render } from 'solid-js/web';
import App from './App.jsx';
import './app.css';

render(() => <App />, document.getElementById('app'));
