import App from './App.jsx';
import './app.css';

export default { title: 'App', component: App };
export const Whole = {};
