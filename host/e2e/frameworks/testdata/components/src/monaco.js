// Monaco, as its package has it for pages: its loader is on the page.
window.require.config({ paths: { vs: '/node_modules/monaco-editor/min/vs' } });
window.require(['vs/editor/editor.main'], () => {
  window.monaco.editor.create(document.getElementById('app'), { value: 'let a = 1\nlet b = 2\n', language: 'javascript', ariaLabel: 'Code' });
});
