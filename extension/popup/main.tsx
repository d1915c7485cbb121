import { render } from 'preact';
import '../../web/ui/tokens.css';
import './popup.css';
import { Popup } from './popup';
import { connectToWorker } from './worker-client';

const root = document.getElementById('popup');
if (root !== null) render(<Popup client={connectToWorker()} />, root);
