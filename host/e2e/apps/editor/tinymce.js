// TinyMCE, as its package has it for pages: it edits in a frame of its own.
tinymce.init({
  selector: '#app',
  license_key: 'gpl',
  plugins: 'lists link',
  promotion: false,
  iframe_aria_text: 'Message',
  setup: (editor) => {
    editor.on('init', () => {
      window.written = () => editor.getContent({ format: 'text' }).replaceAll('\n\n', '\n').trim();
      window.write = (text) => editor.setContent(text.replace(/.+/g, '<p>$&</p>'));
      window.selected = () => editor.selection.getContent({ format: 'text' });
    });
  },
});
