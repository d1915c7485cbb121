// TinyMCE, as its package has it for pages: its script is on the page.
const field = document.createElement('textarea');
field.id = 'edit';
field.value = '<p>Dear <b>Ada</b></p>';
document.getElementById('app').append(field);
window.tinymce.init({ selector: '#edit', license_key: 'gpl', plugins: 'lists link table', promotion: false, branding: false, iframe_aria_text: 'Letter' });
