// CKEditor: the cells of a table are edited apart from what is around it.
import { ClassicEditor } from '@ckeditor/ckeditor5-editor-classic';
import editorStyle from '@ckeditor/ckeditor5-editor-classic/dist/index.css?inline';
import { Essentials } from '@ckeditor/ckeditor5-essentials';
import { Paragraph } from '@ckeditor/ckeditor5-paragraph';
import { Table } from '@ckeditor/ckeditor5-table';
import tableStyle from '@ckeditor/ckeditor5-table/dist/index.css?inline';

const style = document.createElement('style');
style.textContent = editorStyle + tableStyle;
document.head.append(style);
ClassicEditor.create(document.getElementById('app'), {
  licenseKey: 'GPL',
  plugins: [Essentials, Paragraph, Table],
  label: 'Message',
}).then((editor) => {
  window.written = () => editor.getData();
  window.write = (html) => editor.setData(html);
});
