// Reports every navigation to the native host.
const port = chrome.runtime.connectNative('dev.tidemark.host');
port.onDisconnect.addListener(() => console.log(chrome.runtime.lastError?.message));
port.postMessage({ type: 'hello' });
chrome.webNavigation.onBeforeNavigate.addListener(({ url, frameId }) => {
  if (frameId === 0) port.postMessage({ type: 'navigation', url });
});

// The launcher sets the capture mode and waits for this function.
globalThis.setWay = async () => undefined;
