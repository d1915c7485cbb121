// CodeMirror: brackets close themselves, and lines are numbered.
import { javascript } from '@codemirror/lang-javascript';
import { basicSetup, EditorView } from 'codemirror';

const view = new EditorView({
  parent: document.getElementById('app'),
  extensions: [
    basicSetup,
    javascript(),
    EditorView.contentAttributes.of({ 'aria-label': 'Message' }),
    EditorView.theme({ '&': { height: '300px' } }),
  ],
});
window.written = () => view.state.doc.toString();
window.write = (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
window.selected = () => view.state.sliceDoc(view.state.selection.main.from, view.state.selection.main.to);
