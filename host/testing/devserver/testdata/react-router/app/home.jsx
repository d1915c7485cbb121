import App from '../src/App.jsx';

export default function Home() {
  return <App />;
}
