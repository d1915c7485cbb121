// Quill: Enter begins a paragraph.
import Quill from 'quill/core';

const quill = new Quill('#app', {});
quill.root.setAttribute('aria-label', 'Message');
window.written = () => quill.getText().trimEnd();
