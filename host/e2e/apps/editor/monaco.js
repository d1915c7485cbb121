// Monaco, as its package has it for pages.
require.config({ paths: { vs: '/node_modules/monaco-editor/min/vs' } });
require(['vs/editor/editor.main'], () => {
  const editor = monaco.editor.create(document.getElementById('app'), { language: 'javascript', ariaLabel: 'Message' });
  window.written = () => editor.getValue({ preserveBOM: false, lineEnding: '\n' });
  window.write = (text) => editor.setValue(text);
  window.selected = () => editor.getModel().getValueInRange(editor.getSelection());
});
