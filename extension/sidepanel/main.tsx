/** The side panel: the viewer for people who do not want DevTools open. */
import { render } from 'preact';
import '../../web/ui/tokens.css';
import { ViewerModel } from '../../web/ui/viewer/model';
import { Viewer } from '../../web/ui/viewer/viewer';
import { connectToWorker } from '../panel/worker-client';

const root = document.getElementById('viewer');
const model = new ViewerModel(connectToWorker({}));
if (root !== null) render(<Viewer model={model} />, root);
