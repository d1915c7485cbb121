package reports

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/extensions"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/protocol"
)

// otherExtension may do all that the user can grant, and is on every page.
var otherExtension = map[string]string{
	"manifest.json": `{"manifest_version": 3, "name": "Other", "version": "1", "background": {"service_worker": "worker.js"},
		"permissions": ["nativeMessaging", "tabs", "scripting", "debugger", "management"], "host_permissions": ["<all_urls>"],
		"content_scripts": [{"matches": ["<all_urls>"], "js": ["content.js"], "run_at": "document_start", "all_frames": true}],
		"web_accessible_resources": [{"resources": ["*"], "matches": ["<all_urls>"]}]}`,
	"worker.js": `
const ID = '` + protocol.ExtensionID + `', HOST = '` + protocol.HostName + `';
const PORTS = ['content', 'popup', 'viewer', ''];
const MESSAGES = [{ type: 'hello' }, { type: 'action', kind: 'click', target: 'forged-by-the-other' }, { type: 'ask', id: 1, method: 'changes', params: {} }, { id: 1, method: 'status' }];
const late = (ms) => new Promise((done) => setTimeout(done, ms));
// What the other end answered, 'nothing' where it accepted the port and is silent.
const through = (port) => new Promise((done) => {
  const got = [];
  port.onMessage.addListener((message) => got.push(JSON.stringify(message)));
  port.onDisconnect.addListener(() => done(got.length ? 'answered ' + got : 'refused: ' + chrome.runtime.lastError?.message));
  for (const message of MESSAGES) try { port.postMessage(message); } catch {}
  late(3000).then(() => done(got.length ? 'answered ' + got : 'nothing'));
});
const tried = (f) => Promise.race([Promise.resolve().then(f).then((v) => 'answered ' + JSON.stringify(v), (e) => 'refused: ' + e.message), late(3000).then(() => 'nothing')]);
globalThis.attack = async (page) => {
  const results = {};
  for (const name of PORTS) results['connect ' + name] = await through(chrome.runtime.connect(ID, { name }));
  for (const [i, message] of MESSAGES.entries()) results['send ' + i] = await tried(() => chrome.runtime.sendMessage(ID, message));
  results['connect the native host'] = await through(chrome.runtime.connectNative(HOST));
  results['send to the native host'] = await tried(() => chrome.runtime.sendNativeMessage(HOST, MESSAGES[0]));
  for (const path of ['manifest.json', 'background.js', 'content.js', 'page.js', 'popup/index.html', 'panel/index.html', 'sidepanel/index.html'])
    results['fetch ' + path] = await tried(() => fetch('chrome-extension://' + ID + '/' + path).then((r) => r.text()));
  results['debug'] = await tried(() => chrome.debugger.attach({ extensionId: ID }, '1.3'));
  const worker = (await chrome.debugger.getTargets()).find(({ url }) => url.startsWith('chrome-extension://' + ID + '/'));
  results['debug its worker'] = await tried(() => chrome.debugger.attach({ targetId: worker?.id ?? ID }, '1.3'));
  const own = await chrome.tabs.create({ url: 'chrome-extension://' + ID + '/popup/index.html', active: false });
  await late(500);
  results['script in its page'] = await tried(() => chrome.scripting.executeScript({ target: { tabId: own.id }, func: () => document.title }));
  results['debug its page'] = await tried(() => chrome.debugger.attach({ tabId: own.id }, '1.3'));
  results['message to its page'] = await tried(() => chrome.tabs.sendMessage(own.id, MESSAGES[1]));
  results['port to its page'] = await through(chrome.tabs.connect(own.id, { name: 'viewer' }));
  await chrome.tabs.remove(own.id).catch(() => {});
  const [tab] = await chrome.tabs.query({ url: page });
  results['content script'] = await tried(async () => {
    const [{ result }] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, args: [ID, PORTS, MESSAGES], func: async (id, ports, messages) => {
      const said = [];
      for (const name of ports) try {
        const port = chrome.runtime.connect(id, { name });
        port.onMessage.addListener((m) => said.push(m));
        for (const message of messages) port.postMessage(message);
      } catch {}
      for (const message of messages) await chrome.runtime.sendMessage(id, message).then((m) => said.push(m), () => {});
      for (const message of messages) {
        window.postMessage(message, '*');
        window.postMessage({ ...message, source: 'tidemark' }, '*');
        for (const name of ['tidemark', 'message', ...ports]) document.dispatchEvent(new CustomEvent(name, { detail: message }));
      }
      await new Promise((done) => setTimeout(done, 500));
      if (said.length === 0) throw new Error('no answer');
      return said;
    } });
    if (result === null) throw new Error('no answer');
    return result;
  });
  return JSON.stringify(results);
};`,
	"content.js": ``,
}

// TestAnotherExtensionReachesNothing: it may have every permission, and reaches neither the host nor the extension.
func TestAnotherExtensionReachesNothing(t *testing.T) {
	w := e2etest.SeparateWorld(t)
	dir := t.TempDir()
	for name, text := range otherExtension {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := chromedp.CallBrowser(w.Browser.Context(), extensions.LoadUnpacked, extensions.LoadUnpackedParams{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	before := w.Run("status", "--json")
	ctx := e2etest.Attach(t, w.Browser, "the other extension", func(info *target.Info) bool {
		return info.Type == "service_worker" && strings.HasPrefix(info.URL, "chrome-extension://"+loaded.ID+"/")
	})
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("attack('"+s.URL+"/*')", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]string
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		t.Fatal(err)
	}
	for what, result := range results {
		t.Logf("%s: %.200s", what, result)
		if !strings.HasPrefix(result, "refused: ") {
			t.Errorf("%s: %.300s", what, result)
		}
	}
	if len(results) < 20 {
		t.Errorf("only %d attempts", len(results))
	}
	if got := e2etest.Show(a.Changes()); strings.Contains(got, "forged") {
		t.Errorf("it forged %s", got)
	}
	if after := w.Run("status", "--json"); strings.Contains(after.Out, "forged") || strings.Count(after.Out, `"instance"`) != strings.Count(before.Out, `"instance"`) {
		t.Errorf("the status is %s", after.Out)
	}
	p.JS(`console.error('still seen')`)
	if got := e2etest.Show(a.Changes()); !strings.Contains(got, "still seen") {
		t.Errorf("afterwards: %s", got)
	}
}
