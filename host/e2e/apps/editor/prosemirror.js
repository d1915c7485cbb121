// ProseMirror: Enter sends, as in a chat; Shift+Enter begins a paragraph.
import { baseKeymap, splitBlock } from 'prosemirror-commands';
import { history } from 'prosemirror-history';
import { keymap } from 'prosemirror-keymap';
import { schema } from 'prosemirror-schema-basic';
import { EditorState } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';

const send = (state, dispatch) => {
  document.getElementById('said').textContent += `sent ${state.doc.textBetween(0, state.doc.content.size, '\n')}; `;
  dispatch(state.tr.delete(0, state.doc.content.size));
  return true;
};
const view = new EditorView(document.getElementById('app'), {
  state: EditorState.create({
    schema,
    plugins: [history(), keymap({ Enter: send, 'Shift-Enter': splitBlock }), keymap(baseKeymap)],
  }),
  attributes: { 'aria-label': 'Message' },
});
window.written = () => view.state.doc.textBetween(0, view.state.doc.content.size, '\n');
