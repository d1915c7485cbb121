/** Puts the panel into DevTools; the page itself is never seen. */
chrome.devtools.panels.create('Tidemark', 'icons/32.png', 'panel/index.html');
