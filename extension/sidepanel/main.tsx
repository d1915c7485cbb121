/** The side panel: the viewer for people who do not want DevTools open. */
import { render } from 'preact';
import '../ui/tokens.css';
import { ViewerModel } from '../ui/viewer/model';
import { Viewer } from '../ui/viewer/viewer';
import { connectToWorker } from '../ui/viewer/worker';

const root = document.getElementById('viewer');
const model = new ViewerModel(connectToWorker({}));
if (root !== null) render(<Viewer model={model} />, root);
