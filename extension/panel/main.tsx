/** The panel in DevTools: the viewer, for the tab that is inspected. */
import { type JSX, render } from 'preact';
import { t } from '../text';
import '../../web/ui/tokens.css';
import { Instead } from '../../web/ui/instead';
import { ViewerModel } from '../../web/ui/viewer/model';
import { Viewer } from '../../web/ui/viewer/viewer';
import { connectToWorker, openInSources } from './worker-client';

const root = document.getElementById('viewer');
if (root !== null) render(panel(), root);

function panel(): JSX.Element {
  // Only DevTools give their panels these; whoever opens the page by its address gets no tab to show.
  const inspected = (chrome.devtools as typeof chrome.devtools | undefined)?.inspectedWindow;
  if (inspected === undefined) return <Instead icon="../icons/48.png" text={t('onlyInDevTools')} />;
  const client = connectToWorker({ tab: inspected.tabId, openSource: openInSources });
  return <Viewer model={new ViewerModel(client)} />;
}
