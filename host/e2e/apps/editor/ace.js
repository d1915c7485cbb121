// Ace, as its package has it for pages: a script of this kind, served beside its modes.
const editor = ace.edit('app', { mode: 'ace/mode/javascript', useWorker: false });
editor.textInput.getElement().setAttribute('aria-label', 'Message');
window.written = () => editor.getValue();
window.write = (text) => editor.setValue(text, -1);
window.selected = () => editor.getSelectedText();
