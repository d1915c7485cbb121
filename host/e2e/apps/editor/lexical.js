// Lexical: Enter sends, as in a chat.
import { createEmptyHistoryState, registerHistory } from '@lexical/history';
import { registerRichText } from '@lexical/rich-text';
import { $getRoot, COMMAND_PRIORITY_HIGH, createEditor, KEY_ENTER_COMMAND } from 'lexical';

const editor = createEditor({ namespace: 'message', onError: (error) => console.error(error) });
const field = document.getElementById('app');
field.contentEditable = 'true';
field.setAttribute('role', 'textbox');
field.setAttribute('aria-label', 'Message');
editor.setRootElement(field);
registerRichText(editor);
registerHistory(editor, createEmptyHistoryState(), 300);
const read = () => editor.getEditorState().read(() => $getRoot().getTextContent());
editor.registerCommand(
  KEY_ENTER_COMMAND,
  (event) => {
    event?.preventDefault();
    document.getElementById('said').textContent += `sent ${$getRoot().getTextContent()}; `;
    $getRoot().clear();
    return true;
  },
  COMMAND_PRIORITY_HIGH,
);
window.written = read;
