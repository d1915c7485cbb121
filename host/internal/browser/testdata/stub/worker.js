// Tells the native host of every navigation that begins.
const port = chrome.runtime.connectNative('dev.tidemark.host');
port.onDisconnect.addListener(() => console.log(chrome.runtime.lastError?.message));
port.postMessage({ type: 'hello' });
chrome.webNavigation.onBeforeNavigate.addListener(({ url, frameId }) => {
  if (frameId === 0) port.postMessage({ type: 'navigation', url });
});

// Whoever launches the browser says how to capture, and waits until it was heard.
globalThis.setWay = async () => undefined;
