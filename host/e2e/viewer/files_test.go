package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestThePanelExportsTheSession takes each of the files that the panel gives along, out of the real DevTools,
// and reads it as whoever gets it would.
func TestThePanelExportsTheSession(t *testing.T) {
	b := newBasket(t)
	in := e2etest.Inspect(t, b.Site)
	w, p, panel := in.World, in.Page, in.Panel
	dir := t.TempDir()
	if _, err := chromedp.CallBrowser(w.Browser.Context(), browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
	}); err != nil {
		t.Fatal(err)
	}
	a := w.NewAgent(t)
	a.Changes()
	p.JS(`await load()`)
	a.Call("checkpoint_create", map[string]any{"name": "session_start"}, &struct{}{})
	b.status.Store(500)
	p.JS(`await fetch('/api/prices?page=2&x=%3Cb%3E', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"q":"lamp"}' });
await (await fetch('/api/cart')).text();
document.getElementById('pay').click(); console.warn('</script><script>globalThis.owned = 1</script><img src=x onerror="globalThis.owned = 1">')`)
	a.Changes()
	e2etest.RunIn(panel, t, e2etest.ViewerHelp+`await until(() => says('1 failed request') && says('the cart cannot be read'), 'what happened')`)
	export := func(what, ending string) (file string, text []byte) {
		t.Helper()
		name, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		e2etest.RunIn(panel, t, e2etest.ViewerHelp+`await press('Export'); await press(`+string(name)+`)`)
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			files, err := filepath.Glob(filepath.Join(dir, "*."+ending))
			if err != nil || len(files) != 1 {
				return false, err
			}
			file = files[0]
			text, err = os.ReadFile(file)
			return len(text) > 0, err
		}); err != nil {
			t.Fatalf("%s is not saved: %v", what, err)
		}
		return file, text
	}

	_, text := export("Everything as JSON", "json")
	var session struct {
		Tidemark    string
		Exported    time.Time
		Checkpoints []struct{ Name string }
		Spans       []struct {
			From, To string
			Report   struct{ Severity, Summary string }
		}
		Calls []struct{ Tool, Answer string }
	}
	if err := json.Unmarshal(text, &session); err != nil {
		t.Fatal(err)
	}
	if len(session.Checkpoints) != 1 || session.Checkpoints[0].Name != "session_start" || session.Tidemark == "" || time.Since(session.Exported) > time.Hour {
		t.Errorf("the session's head is %+v", session)
	}
	if s := session.Spans; len(s) != 2 || s[0].To != "session_start" || s[0].Report.Severity != "clean" || s[1].From != "session_start" || s[1].To != "now" || s[1].Report.Severity != "error" {
		t.Errorf("the spans are %+v", s)
	}
	answered := 0
	for _, c := range session.Calls {
		if c.Tool == "get_changes_since" && strings.Contains(c.Answer, `"severity"`) {
			answered++
		}
	}
	if answered < 2 {
		t.Errorf("what the agent was told is not in it: %+v", session.Calls)
	}

	name, text := export("Requests from session_start to now as HAR", "har")
	if !strings.Contains(name, "tidemark-session_start-to-now-") {
		t.Errorf("the archive is called %s, which does not say what is in it", name)
	}
	checkHAR(t, text, b.URL)

	file, text := export("Everything as one HTML file", "html")
	for _, secret := range []string{"sk_live_0123456789"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("a secret is in the file")
		}
	}
	reader := w.Open(t, "about:blank")
	reader.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
			return chromedp.Void{}, err
		}
		_, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{{Offline: true}}})
		return chromedp.Void{}, err
	}, chromedp.Navigate("file://"+file))
	reader.JS(`
const text = document.body.innerText;
for (const part of ['session_start → clean', 'now → 2 errors, 2 warnings', '1 failed request', '/api/cart', 'the cart cannot be read', 'get_changes_since', '<img src=x onerror="globalThis.owned = 1">'])
	if (!text.replace(/\s+/g, ' ').includes(part)) throw new Error(part + ' is not in ' + text);
if (globalThis.owned || document.querySelector('img')) throw new Error('the page had its way');
if (performance.getEntriesByType('resource').length > 0) throw new Error('it loads ' + performance.getEntriesByType('resource').map((r) => r.name));
if (getComputedStyle(document.querySelector('.verdict')).display !== 'flex') throw new Error('it has no style');
if (document.querySelector('button')) throw new Error('there is a button that does nothing');
const data = JSON.parse(document.getElementById('session').textContent);
if (data.spans.length !== 2) throw new Error('the data is not in it');
if (document.documentElement.scrollWidth > innerWidth + 1) throw new Error('it is wider than its window');`)
	if dir := os.Getenv(ScreenshotsEnv); dir != "" {
		png, err := shot(reader.Ctx, 1000, 900, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "export-light.png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkHAR reads a file as the HTTP Archive format, version 1.2, asks for it: every field that has to be there.
func checkHAR(t *testing.T, text []byte, url string) {
	t.Helper()
	var file struct{ Log map[string]any }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	need := func(where string, object any, kinds map[string]string) map[string]any {
		t.Helper()
		fields, ok := object.(map[string]any)
		if !ok {
			t.Fatalf("%s is %v", where, object)
		}
		for name, kind := range kinds {
			if got := fmt.Sprintf("%T", fields[name]); got != kind {
				t.Errorf("%s.%s is %s, not %s", where, name, got, kind)
			}
		}
		return fields
	}
	const str, num, list, object = "string", "float64", "[]interface {}", "map[string]interface {}"
	log := need("log", file.Log, map[string]string{"version": str, "creator": object, "entries": list})
	need("creator", log["creator"], map[string]string{"name": str, "version": str})
	if log["version"] != "1.2" {
		t.Errorf("its version is %v", log["version"])
	}
	seen, bodies := map[string]int{}, ""
	entries, _ := log["entries"].([]any)
	for i, e := range entries {
		at := fmt.Sprintf("entries[%d]", i)
		entry := need(at, e, map[string]string{"startedDateTime": str, "time": num, "request": object, "response": object, "cache": object, "timings": object})
		started, _ := entry["startedDateTime"].(string)
		if _, err := time.Parse(time.RFC3339, started); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		timings := need(at+".timings", entry["timings"], map[string]string{"send": num, "wait": num, "receive": num})
		if sum, _ := timings["wait"].(float64); sum != entry["time"] {
			t.Errorf("%s: the timings are %v of %v", at, timings, entry["time"])
		}
		request := need(at+".request", entry["request"], map[string]string{
			"method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list, "headersSize": num, "bodySize": num,
		})
		response := need(at+".response", entry["response"], map[string]string{
			"status": num, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": object, "redirectURL": str, "headersSize": num, "bodySize": num,
		})
		content := need(at+".response.content", response["content"], map[string]string{"size": num, "mimeType": str})
		address, _ := request["url"].(string)
		address = strings.TrimPrefix(address, url)
		seen[address]++
		switch address {
		case "/api/prices?page=2&x=%3Cb%3E":
			data := need(at+".request.postData", request["postData"], map[string]string{"mimeType": str, "text": str})
			if data["mimeType"] != "application/json" || data["text"] != `{"q":"lamp"}` {
				t.Errorf("what was sent is %v", data)
			}
			if got := fmt.Sprint(request["queryString"]); got != "[map[name:page value:2] map[name:x value:<b>]]" {
				t.Errorf("the query is %s", got)
			}
		case "/api/cart":
			bodies += fmt.Sprintln(content["text"], content["comment"])
			// The shop itself does not read what it is told of an error; the browser may hand it out all the same.
			if comment, _ := content["comment"].(string); content["text"] == nil && !strings.Contains(comment, "did not read the body") {
				t.Errorf("%s: neither an answer nor why there is none: %v", at, content)
			}
		}
	}
	if !strings.Contains(bodies, "Lamp") || strings.Contains(bodies, "sk_live_0123456789") {
		t.Errorf("the answers are %s", bodies)
	}
	if seen["/api/prices?page=2&x=%3Cb%3E"] != 1 || seen["/api/cart"] == 0 {
		t.Errorf("the requests are %v", seen)
	}
}
