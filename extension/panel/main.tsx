/** The panel in DevTools: the viewer, for the tab that is inspected. */
import { render } from 'preact';
import '../ui/tokens.css';
import { ViewerModel } from '../ui/viewer/model';
import { Viewer } from '../ui/viewer/viewer';
import { connectToWorker, openInSources } from '../ui/viewer/worker';

const root = document.getElementById('viewer');
const model = new ViewerModel(
  connectToWorker({ tab: chrome.devtools.inspectedWindow.tabId, openSource: openInSources }),
);
if (root !== null) render(<Viewer model={model} />, root);
