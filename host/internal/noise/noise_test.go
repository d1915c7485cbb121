package noise

import (
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/event"
)

func TestConsole(t *testing.T) {
	rules := Default()
	for _, c := range []struct {
		level event.Level
		text  string
		url   string
		want  string
	}{
		{event.Debug, "[vite] hot updated: /src/App.tsx", "http://localhost:5173/@vite/client", "vite-log"},
		{event.Warning, "[vite] connecting...", "", "vite-log"},
		{event.Error, "[vite] Failed to reload /src/App.tsx.", "", ""},
		{event.Error, "[HMR] Update failed: ChunkLoadError", "", ""},
		{event.Log, "[Fast Refresh] rebuilding", "", "next-log"},
		{event.Error, "TypeError: x is not a function", "chrome-extension://abc/content.js", "extension-console"},
		{event.Error, "TypeError: x is not a function", "http://localhost/app.js", ""},
		{event.Error, "Failed to load chrome-extension:// thing", "http://localhost/app.js", ""},
		{event.Info, "Download the React DevTools for a better development experience", "", "react-devtools"},
		{event.Warning, "deprecated: use vite", "", ""},
	} {
		got := ""
		if r := rules.Console(&event.Console{Level: c.level, Via: "console", Text: c.text, URL: c.url}); r != nil {
			got = r.ID
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.level, c.text, got, c.want)
		}
	}
}

// TestTheBrowsersLineAboutARequestIsWhatTheRequestIs: it is never red beside a request that is hidden.
func TestTheBrowsersLineAboutARequestIsWhatTheRequestIs(t *testing.T) {
	rules := Default()
	line := event.Console{
		Level: event.Error, Via: "browser", Category: "network", URL: "http://localhost:3000/favicon.ico",
		Text: "Failed to load resource: the server responded with a status of 404 (Not Found)",
	}
	if r := rules.Console(&line); r == nil || r.ID != "favicon" {
		t.Errorf("a missing favicon's line is hidden by %v", r)
	}
	other, said := line, line
	other.URL = "http://localhost:3000/api/users"
	said.Via = "console" // by the page
	for _, c := range []event.Console{other, said} {
		if r := rules.Console(&c); r != nil {
			t.Errorf("%+v is hidden by %s", c, r.ID)
		}
	}
}

func TestNetwork(t *testing.T) {
	rules := Default()
	for _, c := range []struct {
		url    string
		status int
		want   string
	}{
		{"http://localhost:3000/favicon.ico", 404, "favicon"},
		{"http://localhost:3000/favicon.ico", 200, "favicon"},
		{"http://localhost:3000/img/favicon.ico.png", 404, ""},
		{"https://www.google-analytics.com/g/collect?v=2", 204, "analytics"},
		{"https://o1.ingest.sentry.io/api/1/envelope/", 429, "analytics"},
		{"https://notsentry.io/api", 500, ""},
		{"http://localhost/google-analytics.com/x", 500, ""},
		{"http://localhost:3000/main.4f3a.hot-update.json", 200, "hot-update-files"},
		{"http://localhost:3000/main.4f3a.hot-update.js", 404, ""},
		{"http://localhost:3000/api/users", 500, ""},
	} {
		got := ""
		if r := rules.Network(&event.Network{URL: c.url, Status: c.status}); r != nil {
			got = r.ID
		}
		if got != c.want {
			t.Errorf("%d %s: %q, want %q", c.status, c.url, got, c.want)
		}
	}
}

// Next.js's messages of hot updates are those that its rule matches, at every level.
func TestMessagesOfARefresh(t *testing.T) {
	rules := Default()
	for text, want := range map[string]bool{
		"[Fast Refresh] done in 120ms": true, "[Fast Refresh] rebuilding": true, "[Fast Refresh] performing full reload": true,
		"[fast refresh] done": false, "see [Fast Refresh] done": false, "[vite] hot updated: /src/a.js": false, "[Fast": false, "": false,
	} {
		for level := event.Debug; level <= event.Error; level++ {
			e := &event.Console{Level: level, Text: text}
			if TellsOfRefresh(e) != want {
				t.Errorf("%s %q: %v", level, text, !want)
			}
			if rule := rules.Console(e); rule != nil && (rule.ID == "next-log") != want {
				t.Errorf("%s %q: %s", level, text, rule.ID)
			}
		}
	}
}

// updates are what servers' clients log and receive, and the update that it shows.
var updates = []struct {
	ev   event.Event
	want string
}{
	{&event.Console{Text: "[vite] hot updated: /src/App.tsx"}, "hot_update"},
	{&event.Console{Text: "[vite] connected."}, ""},
	{&event.Console{Level: event.Error, Text: "[vite] Failed to reload /src/App.tsx"}, "hot_update_failed"},
	{&event.Console{Text: "[Fast Refresh] done in 120ms"}, "hot_update"},
	{&event.Console{Text: "[HMR] App is up to date."}, "hot_update"},
	{&event.Console{Level: event.Warning, Text: "[HMR] Cannot apply update. Need to do a full reload!"}, "hot_update_failed"},
	{&event.Console{Level: event.Warning, Text: "[HMR] Root or manually mounted instance modified. Full reload required."}, "hot_update_failed"},
	{&event.Console{Level: event.Warning, Text: "[HMR] Something went wrong during Vue component hot-reload. Full reload required."}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/_next/webpack-hmr", Text: `{"action":"built","hash":"1","errors":[],"warnings":[]}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://127.0.0.1:1234/", Text: `{"type":"update","assets":[{"id":"jX2f","url":"/src.js"}]}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://127.0.0.1:1234/", Text: `{"type":"error","diagnostics":{"ansi":[{"message":"x"}]}}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://127.0.0.1:1234/", Text: `{"type":"update","data":[]}`}, ""},
	{&event.Console{Level: event.Error, Text: "[rsbuild] HMR update failed, performing full reload: Error: Aborted because ./src/probe.ts is not accepted"}, "hot_update_failed"},
	{&event.Console{Text: "[rsbuild] WebSocket connected."}, ""},
	{&event.Console{Text: "we hot updated the cache"}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:5173/?token=[masked]", Text: `{"type":"update","updates":[]}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:5173/?token=[masked]", Text: `{"type":"error","err":{}}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:4200/?token=[masked]", Text: `{"type":"custom","event":"angular:component-update","data":{"id":"src%2FApp.ts%40App","timestamp":1764352638}}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:4200/?token=[masked]", Text: `{"type":"custom","event":"vite:ws:connect"}`}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:5173/live", Text: `{"type":"update"}`}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/_next/hmr?id=1", Text: `{"type":"built","hash":"0","errors":[],"warnings":[]}`}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/_next/hmr?id=1", Text: `{"type":"built","hash":"1","errors":[{"message":"./src/App.jsx:24:12"}]}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/_next/hmr?id=1", Text: `{"type":"turbopack-message","data":[{"resource":{"path":"a.js"},"type":"partial"}]}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:8080/ws", Text: `{"name":"","action":"built","time":189,"hash":"4c7a","warnings":[],"errors":[]}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:8080/ws", Text: `{"name":"","action":"built","time":189,"hash":"4c7a","warnings":[],"errors":["Module not found"]}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:8080/ws", Text: `{"type":"errors","data":[{"moduleName":"./src/App.jsx"}]}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:8080/ws", Text: `{"action":"built","house":7}`}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/rsbuild-hmr?token=[masked]", Text: `{"type":"hash","data":"38ed93ab6915f7b2"}`}, ""},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/rsbuild-hmr?token=[masked]", Text: `{"type":"ok"}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/rsbuild-hmr?token=[masked]", Text: `{"type":"warnings","data":{"text":["unused"]}}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/rsbuild-hmr?token=[masked]", Text: `{"type":"static-changed"}`}, "hot_update"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/rsbuild-hmr?token=[masked]", Text: `{"type":"errors","data":{"text":["File: ./src/greet.js:1:1"],"html":""}}`}, "hot_update_failed"},
	{&event.WebSocket{Op: "received", URL: "ws://localhost:3000/chat", Text: `{"type":"ok"}`}, ""},
	{&event.WebSocket{Op: "sent", URL: "ws://localhost:5173/?token=[masked]", Text: `{"type":"update"}`}, ""},
}

func TestUpdates(t *testing.T) {
	rules := Default()
	for _, c := range updates {
		if got := rules.Update(c.ev); got != c.want {
			t.Errorf("%+v: %q, want %q", c.ev, got, c.want)
		}
	}
}

// TestEachMarkNamesItsServerAndHasAnExample: without the mark, the example would be no update, or one of another kind.
func TestEachMarkNamesItsServerAndHasAnExample(t *testing.T) {
	rules := Default()
	for _, rule := range slices.Concat(rules.console, rules.websocket, rules.frames) {
		for i, m := range rule.Marks {
			if m.Server == "" {
				t.Errorf("%s: %s names no server", rule.ID, m.Text)
			}
			marks := rule.Marks
			rule.Marks = slices.Delete(slices.Clone(marks), i, i+1)
			if !slices.ContainsFunc(updates, func(c struct {
				ev   event.Event
				want string
			},
			) bool {
				return rules.Update(c.ev) != c.want
			}) {
				t.Errorf("%s: no example shows %s", rule.ID, m.Text)
			}
			rule.Marks = marks
		}
	}
}

func TestATableThatCannotBeReadNamesItsRule(t *testing.T) {
	for table, want := range map[string]string{
		`[{"id":"a","channel":"console","text":"("}]`:                   `"a"`,
		`[{"id":"b","channel":"smell","text":"x"}]`:                     `"b"`,
		`[{"id":"c","channel":"console"}]`:                              `"c"`,
		`[{"id":"d","channel":"console","text":"x","levels":["loud"]}]`: `"d"`,
		`{}`: "noise rules",
	} {
		if _, err := New([]byte(table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", table, err)
		}
	}
}

func TestSocketsOfVitesClient(t *testing.T) {
	rules := Default()
	for _, c := range []struct{ url, frame, want string }{
		{"ws://localhost:5173/?token=AbCdEf_gh-12", "connect (http://localhost:5173/@vite/client:9:5)", "hot-update-socket"},
		{"ws://localhost:5173/", "ping (blob:http://localhost:5173/1b0c:8:20)", "vite-ping"},
		{"ws://localhost:5173/", "ping (http://localhost:5173/@vite/client:1225:19)", "vite-ping"},
		{"ws://localhost:5173/", "ping (http://localhost:5173/src/chat.ts:8:20)", ""},
		{"ws://localhost:5173/", "connect (blob:http://localhost:5173/1b0c:8:20)", ""},
		{"ws://localhost:5173/", "", ""},
	} {
		e := &event.WebSocket{Op: "error", URL: c.url}
		if c.frame != "" {
			e.Stack = []string{c.frame}
		}
		got := ""
		if r := rules.Socket(e); r != nil {
			got = r.ID
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.url, c.frame, got, c.want)
		}
	}
}
