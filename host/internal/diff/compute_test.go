package diff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

type params = observe.ChangesParams

// TestReports: what is sent before the agent looks, what after, and what is then in the answer.
func TestReports(t *testing.T) {
	const page = enginetest.Page
	for _, c := range []struct {
		name          string
		before, after func(*enginetest.World)
		want, wrong   []string
	}{
		{
			name:   "ids of a path are one endpoint",
			before: func(w *enginetest.World) { w.Request("GET", "/users/1", 200, 9) },
			after:  func(w *enginetest.World) { w.Request("GET", "/users/2", 500, 9) },
			want:   []string{`{"method":"GET","url":"/users/2","status":500,"previous_status":200}`},
		},
		{
			name:   "several paths are shown as their template",
			before: func(*enginetest.World) {},
			after: func(w *enginetest.World) {
				w.Request("GET", "/users/1", 200, 9)
				w.Request("GET", "/users/3f2504e0-4f89-41d3-9a0c-0305e82c3301", 200, 9)
			},
			want: []string{`"new_endpoints":[{"method":"GET","url":"/users/{id}","status":200}]`},
		},
		{
			name:   "the hash of a built file does not count",
			before: func(w *enginetest.World) { w.Request("GET", "/assets/index-4f3a2b1c.js", 200, 9) },
			after:  func(w *enginetest.World) { w.Request("GET", "/assets/index-9b8c7d6e.js", 200, 9) },
			wrong:  []string{"new_endpoints"},
		},
		{
			name:  "a first-seen endpoint that fails is a failure",
			after: func(w *enginetest.World) { w.Request("GET", "/gone", 404, 9) },
			want:  []string{`"failures":[{"method":"GET","url":"/gone","status":404}]`}, wrong: []string{"new_endpoints"},
		},
		{
			name:   "one that fails as before is repeated",
			before: func(w *enginetest.World) { w.Request("GET", "/gone", 404, 9) },
			after:  func(w *enginetest.World) { w.Request("GET", "/gone", 404, 9) },
			want:   []string{`"still_failing":1`, `"severity":"error"`, `"summary":"no new problems; 1 repeated error"`, `"repeated":[{"message":"GET /gone 404","count":1}]`}, wrong: []string{"failures"},
		},
		{
			name:   "one that fails no more is recovered",
			before: func(w *enginetest.World) { w.Request("GET", "/cart", 500, 9) },
			after:  func(w *enginetest.World) { w.Request("GET", "/cart", 200, 9) },
			want:   []string{`"recovered":[{"method":"GET","url":"/cart","status":200,"previous_status":500}]`, `"severity":"clean"`},
		},
		{
			name:   "one that failed in between says so",
			before: func(w *enginetest.World) { w.Request("GET", "/cart", 200, 9) },
			after: func(w *enginetest.World) {
				w.Request("GET", "/cart", 503, 9)
				w.Request("GET", "/cart", 503, 9)
				w.Request("GET", "/cart", 200, 9)
			},
			want: []string{`"failures":[{"method":"GET","url":"/cart","status":503,"previous_status":200,"count":2,"now_status":200}]`},
		},
		{
			name:   "the query is kept where it tells a failed request from another one",
			before: func(w *enginetest.World) { w.Request("GET", "/items?page=1", 200, 9) },
			after: func(w *enginetest.World) {
				w.Request("GET", "/items?page=2&_=1764174000001", 500, 9)
				w.Request("GET", "/items?page=2&_=1764174000002", 500, 9)
				w.Request("GET", "/items?page=1", 200, 9)
				w.Request("GET", "/one?page=1", 500, 9)
			},
			want: []string{`"url":"/items?page=2","status":500,"previous_status":200,"count":2}`, `"url":"/one","status":500}`},
		},
		{
			name:   "two failures that differ in their query are two",
			before: func(w *enginetest.World) { w.Request("GET", "/rpc?do=list", 200, 9) },
			after: func(w *enginetest.World) {
				w.Request("GET", "/rpc?do=save", 500, 9)
				w.Request("GET", "/rpc?do=load", 404, 9)
				w.Request("GET", "/rpc?do=save", 201, 9)
			},
			want: []string{
				`"summary":"2 network failure(s)"`, `"url":"/rpc?do=save","status":500,"previous_status":200,"now_status":201}`, `"url":"/rpc?do=load","status":404}`,
			},
		},
		{
			name: "many of them are one",
			after: func(w *enginetest.World) {
				for _, page := range []string{"1", "2", "3", "4"} {
					w.Request("GET", "/items?page="+page, 500, 9)
				}
			},
			want: []string{`{"method":"GET","url":"/items","status":500,"count":4`},
		},
		{
			name:  "no response at all is a failure",
			after: func(w *enginetest.World) { w.Request("GET", "/cart", 0, 9) },
			want:  []string{`"status":0,"error":"net::ERR_CONNECTION_REFUSED"`, `"severity":"error"`},
		},
		{
			name: "a request that was given up is none, and a preflight is nobody's",
			after: func(w *enginetest.World) {
				w.Send("network", `"id":"1","method":"GET","url":"`+page+`/x","resource":"fetch","status":0,"canceled":true,"started":1,"duration":1`)
				w.Send("network", `"id":"2","method":"OPTIONS","url":"http://other/x","resource":"preflight","status":403,"started":1,"duration":1`)
			},
			want: []string{`"severity":"clean"`, `"total_new_requests":2`}, wrong: []string{"failures", "new_endpoints"},
		},
		{
			name: "degraded needs three requests before, three times and 100 ms, and a single one 100 ms more",
			before: func(w *enginetest.World) {
				for range 3 {
					w.Request("GET", "/slow", 200, 40)
					w.Request("GET", "/quick", 200, 10)
					w.Request("GET", "/steady", 200, 200)
					w.Request("GET", "/hiccup", 200, 26)
				}
				w.Request("GET", "/rare", 200, 10)
			},
			after: func(w *enginetest.World) {
				for path, ms := range map[string]float64{"/slow": 150, "/hiccup": 110, "/quick": 90, "/steady": 500, "/rare": 900} {
					w.Request("GET", path, 200, ms)
					w.Pass(time.Second)
				}
			},
			want: []string{`"degraded":[{"method":"GET","url":"/slow","avg_ms":150,"previous_avg_ms":40}]`, `"severity":"warning"`}, wrong: []string{"/hiccup", "/quick", "/steady", "/rare"},
		},
		{
			name:  "another origin is shown whole, without its query",
			after: func(w *enginetest.World) { w.Request("GET", "https://api.test/v1/rates?day=1", 500, 9) },
			want:  []string{`"url":"https://api.test/v1/rates"`}, wrong: []string{"day=1"},
		},
		{
			name: "the browser's line about a failed request is counted once",
			after: func(w *enginetest.World) {
				w.Send("request", `"id":"r9","method":"GET","url":"`+page+`/x","resource":"fetch"`)
				w.Send("console", `"level":"error","via":"browser","category":"network","text":"Failed to load resource: 404","url":"`+page+`/x","request":"r9"`)
				w.Send("network", `"id":"r9","method":"GET","url":"`+page+`/x","resource":"fetch","status":404,"started":1,"duration":1`)
			},
			want: []string{`"status":404`, `"total_new_entries":1`}, wrong: []string{"new_errors"},
		},
		{
			name: "a failed connection is one error, and no disconnection",
			after: func(w *enginetest.World) {
				w.Socket("error", "")
				w.Socket("close", "")
				w.Send("console", `"level":"error","via":"browser","category":"network","text":"WebSocket connection to 'ws://localhost:5173/live' failed: "`)
			},
			want: []string{`"error_messages":[{"url":"/live","message":"the connection failed"}]`, `"severity":"warning"`}, wrong: []string{"disconnections", "new_errors"},
		},
		{
			name: "a worker of Vite's client asks whether its server is back, before it was attached to",
			after: func(w *enginetest.World) {
				w.Send("console", `"level":"debug","via":"console","text":"[vite] connected from window","url":"blob:`+page+`/1b0c","line":40`)
				w.Send("console", `"level":"error","via":"browser","category":"network","text":"WebSocket connection to 'ws://localhost:5173/' failed: Error in connection establishment: net::ERR_CONNECTION_REFUSED","url":"blob:`+page+`/1b0c","line":7`)
			},
			want: []string{`"severity":"clean"`, `"noise_hidden":1`},
		},
		{
			name: "another worker of the page opens a socket in vain",
			after: func(w *enginetest.World) {
				w.Send("console", `"level":"debug","via":"console","text":"[vite] connected from window","url":"blob:`+page+`/1b0c","line":40`)
				w.Send("console", `"level":"debug","via":"console","text":"connected","url":"blob:`+page+`/1b0d","line":40`)
				w.Send("console", `"level":"error","via":"browser","category":"network","text":"WebSocket connection to 'ws://localhost:5173/' failed: ","url":"blob:`+page+`/1b0d","line":7`)
			},
			want: []string{`"severity":"error"`, `ws://localhost:5173/' failed`},
		},
		{
			name:   "leaving a page closes its sockets without a word",
			before: func(w *enginetest.World) { w.Socket("open", "") },
			after: func(w *enginetest.World) {
				w.Send("websocket", `"id":"w1","url":"ws://localhost:5173/live","op":"close","leaving":true`)
			},
			want: []string{`"severity":"clean"`}, wrong: []string{"disconnections"},
		},
		{
			name:  "a missing favicon is noise",
			after: func(w *enginetest.World) { w.Request("GET", "/favicon.ico", 404, 1) },
			want:  []string{`"noise_hidden":1`, `"severity":"clean"`},
		},
		{
			name: "sources are base names unless two clash",
			after: func(w *enginetest.World) {
				for i, url := range []string{"/src/cart/index.js", "/src/menu/index.js", "/src/app.js"} {
					w.Send("console", fmt.Sprintf(`"level":"error","via":"console","text":"error %c","url":%q,"line":%d`, 'a'+i, page+url+"?t=1", i+1))
				}
			},
			want: []string{`"source":"src/cart/index.js:1"`, `"source":"src/menu/index.js:2"`, `"source":"app.js:3"`},
		},
		{
			name: "an element that came and went stays",
			after: func(w *enginetest.World) {
				w.Element("appeared", 1, ".toast", "Saving failed")
				w.Pass(150 * time.Millisecond)
				w.Element("gone", 1, "", "")
			},
			want: []string{`"new_error_elements":[{"selector":".toast","text":"Saving failed","appeared_at":"2026-01-23T10:30:00.000Z","gone_at":"2026-01-23T10:30:00.150Z"}]`, `"severity":"warning"`},
		},
		{
			name:   "one that is there again after a reload is no news",
			before: func(w *enginetest.World) { w.Element("appeared", 1, ".error", "Offline") },
			after: func(w *enginetest.World) {
				w.Send("element", `"op":"reset","frame":0,"document":"d2","id":0`)
				w.Send("navigation", `"how":"reload","url":"`+page+`/"`)
				w.Send("element", `"op":"appeared","frame":0,"document":"d2","id":1,"selector":".error","text":"Offline"`)
			},
			want: []string{`"dom":{}`, `"type":"reload"`, `"severity":"clean"`},
		},
		{
			name:   "an alert whose text changes is another",
			before: func(w *enginetest.World) { w.Element("appeared", 1, "[role=alert]", "First") },
			after:  func(w *enginetest.World) { w.Element("changed", 1, "[role=alert]", "Second") },
			want:   []string{`"text":"Second","appeared_at"`, `"disappeared_elements":[{"selector":"[role=alert]","text":"First"}]`},
		},
		{
			name: "there and back is no change of the address",
			after: func(w *enginetest.World) {
				w.Send("navigation", `"how":"history","url":"`+page+`/cart"`)
				w.Send("navigation", `"how":"history","url":"`+page+`/"`)
			},
			want: []string{`"dom":{}`, `"total_new_actions":2`},
		},
		{
			name:  "a change of the address",
			after: func(w *enginetest.World) { w.Send("navigation", `"how":"history","url":"`+page+`/cart"`) },
			want:  []string{`"url_changed":{"from":"` + page + `/","to":"` + page + `/cart"}`},
		},
		{
			name:  "a crash is an error",
			after: func(w *enginetest.World) { w.Send("navigation", `"how":"crash","url":"`+page+`/"`) },
			want:  []string{`"crashed":[{"url":"` + page + `/"`, `"severity":"error"`},
		},
		{
			name: "hot-update chatter is hidden and counted, its failures are not",
			after: func(w *enginetest.World) {
				w.Log("warning", "[vite] server connection lost")
				w.Log("error", "[vite] Failed to reload /src/App.tsx")
			},
			want: []string{`"noise_hidden":1`, `[vite] Failed to reload`}, wrong: []string{"connection lost"},
		},
		{
			name: "long messages are cut to 200 characters",
			after: func(w *enginetest.World) {
				w.Log("error", strings.Repeat("ä", 300))
			},
			want: []string{`"message":"` + strings.Repeat("ä", 199) + `…"`},
		},
		{
			name: "a gap is told with its span and reason",
			after: func(w *enginetest.World) {
				at := w.Now.UnixMilli()
				w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"dropped","dropped":7`, at-5000, at+500))
				w.Pass(time.Second)
			},
			want: []string{`"coverage":{"gaps":[{"from":"2026-01-23T10:30:00.000Z","to":"2026-01-23T10:30:00.500Z","reason":"dropped"}],"dropped":7,"note":"events were dropped (7 events lost)"}`, "No significant changes; not fully observed: events were dropped"},
		},
		{
			name: "a gap goes on until it is closed",
			before: func(w *enginetest.World) {
				w.Send("gap", fmt.Sprintf(`"from":%d,"to":0,"reason":"detached"`, w.Now.UnixMilli()))
			},
			want: []string{`"reason":"detached"`, "capture of a tab ended"},
		},
		{
			name: "a gap that was closed before is past",
			before: func(w *enginetest.World) {
				at := w.Now.UnixMilli()
				w.Send("gap", fmt.Sprintf(`"from":%d,"to":0,"reason":"detached"`, at-100))
				w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"detached"`, at-100, at-50))
			},
			wrong: []string{"coverage"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := enginetest.New(t, capture.Limits{})
			a := w.Agent()
			if c.before != nil {
				c.before(w)
			}
			w.Changes(a, params{})
			if c.after != nil {
				c.after(w)
			}
			data, err := report.Encode(w.Changes(a, params{}))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.want {
				if !strings.Contains(enginetest.Untimed(data), part) {
					t.Errorf("%s is missing", part)
				}
			}
			for _, part := range c.wrong {
				if strings.Contains(string(data), part) {
					t.Errorf("%s should not be there", part)
				}
			}
			if t.Failed() {
				t.Logf("%s", data)
			}
		})
	}
}

func TestTheMostSevereThenFrequentThenNewestAreShown(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i := range 60 {
		w.Log("warning", "warning "+strings.Repeat("w", i+1))
	}
	for i := range 49 {
		w.Log("error", "error "+strings.Repeat("e", i+1))
	}
	w.Log("error", "error e")
	w.Log("warning", "warning w")
	r := w.Changes(w.Agent(), params{})
	first := r.Console.NewErrors
	if len(first) != 49 || first[0].Message != "error e" || first[0].Count != 2 || len(first[1].Message) <= len(first[2].Message) {
		t.Errorf("errors: %+v", first[:3])
	}
	if len(r.Console.NewWarnings) != 1 || r.Console.NewWarnings[0].Count != 2 || r.Console.Omitted != 59 {
		t.Errorf("warnings: %+v, omitted %d", r.Console.NewWarnings, r.Console.Omitted)
	}
}

func TestAFilterEmptiesListsAndCountsButNeverHidesTheSeverity(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Log("warning", "careful")
	w.Request("GET", "/new", 200, 1)
	w.Socket("close", "")
	r := w.Changes(a, params{Severity: "errors_only"})
	if r.Severity != report.Warning || r.Console.NewWarnings != nil || r.Network.NewEndpoints != nil || r.WebSocket.Disconnections != nil || r.SeverityHidden != 3 || r.DOM == nil {
		t.Errorf("%+v", r)
	}
	if r := w.Changes(a, params{}); !r.Empty() {
		t.Errorf("a filter kept the checkpoint back: %+v", r)
	}
}

func TestOnlyTheSectionsThatWereAskedForAdvance(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Log("error", "one")
	w.Request("GET", "/x", 500, 1)
	w.Changes(a, params{Include: []string{"console"}})
	w.Pass(time.Minute)
	r := w.Changes(a, params{})
	if r.Console.TotalNewEntries != 0 || r.Network.TotalNewRequests != 1 || len(r.Network.Failures) != 1 {
		t.Errorf("%+v %+v", r.Console, r.Network)
	}
	if r.DurationMs < time.Minute.Milliseconds() {
		t.Errorf("the window of what was not told before is longer: %d ms", r.DurationMs)
	}
}

func TestTabsAreNamedOnlyWhereThereAreSeveral(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Log("error", "one")
	if data, _ := json.Marshal(w.Changes(w.Agent(), params{})); strings.Contains(string(data), `"tab"`) {
		t.Errorf("%s", data)
	}
	w.Open(8, "http://localhost:3000/")
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"one"`)
	r := w.Changes(w.Agent(), params{})
	if len(r.Console.NewErrors) != 2 || r.Console.NewErrors[0].Tab+r.Console.NewErrors[1].Tab != 3 {
		t.Errorf("%+v", r.Console)
	}
	if r := w.Changes(w.Scoped("http://localhost:3000"), params{}); len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Tab != 0 {
		t.Errorf("a narrower scope: %+v", r.Console)
	}
	if r := w.Changes(w.Agent(), params{Tab: 2}); len(r.Console.NewErrors) != 1 {
		t.Errorf("one tab: %+v", r.Console)
	}
}

func TestTabsKeepTheirNamesForAsLongAsThereIsSomethingFromThem(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Open(8, enginetest.Page+"/other")
	tabs := func(what string) {
		t.Helper()
		r := w.Changes(w.Agent(), params{})
		if len(r.Console.NewErrors) != 2 || r.Console.NewErrors[0].Tab+r.Console.NewErrors[1].Tab != 3 {
			t.Errorf("%s: %+v", what, r.Console)
		}
	}
	w.Log("error", "one")
	w.Send("console", `"tab":8,"level":"error","via":"console","text":"one"`)
	tabs("both are watched")
	for _, tab := range []int{7, 8} { // as when a person pauses: the extension tells one after the other
		w.Pass(20 * time.Millisecond)
		w.Send("gap", fmt.Sprintf(`"tab":%d,"from":%d,"to":0,"reason":"paused"`, tab, w.Now.UnixMilli()))
		w.SetTab(protocol.Tab{ID: tab, URL: enginetest.Page + "/"})
	}
	tabs("watching is paused")
	for _, tab := range w.Store.View(w.Now).Tabs {
		if tab.Title != "page" {
			t.Errorf("tab %d is called %q while watching is paused", tab.ID, tab.Title)
		}
	}
	began := report.Time{Time: w.Now.Add(-20 * time.Millisecond)}
	if gaps := w.Changes(w.Agent(), params{}).Coverage.Gaps; len(gaps) != 1 || gaps[0].From != began || gaps[0].Tab != 0 || !slices.Equal(gaps[0].Tabs, []int{1, 2}) {
		t.Errorf("what both tabs missed is told as %+v", gaps)
	}
	w.Pass(2 * time.Second)
	w.Open(7, enginetest.Page+"/")
	w.Send("gap", fmt.Sprintf(`"from":%d,"to":%d,"reason":"paused"`, began.UnixMilli(), w.Now.UnixMilli()))
	if gaps := w.Changes(w.Agent(), params{}).Coverage.Gaps; len(gaps) != 2 || gaps[0].Tab != 1 || gaps[1].Tab != 2 {
		t.Errorf("what one of them went on to miss is told as %+v", gaps)
	}
	w.CloseTab(8)
	tabs("one is closed")
	w.SetTab(protocol.Tab{ID: 7, URL: "https://elsewhere.example/"})
	if tab := w.Store.View(w.Now).Tabs[0]; tab.Title != "" {
		t.Errorf("a tab that has gone elsewhere is called %q", tab.Title)
	}
}

func TestAScopeWithNothingWatchedSaysSo(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	r := w.Changes(w.Scoped("http://localhost:9999"), params{})
	if r.Coverage == nil || r.Coverage.Note != "no watched tab shows http://localhost:9999" {
		t.Errorf("%+v", r)
	}
	w.Store.Disconnected("i", w.Now)
	if r := w.Changes(w.Agent(), params{}); r.Coverage == nil || !strings.Contains(r.Coverage.Note, "not connected") {
		t.Errorf("while it is away: %+v", r.Coverage)
	}
	w.Pass(time.Minute)
	user := w.Agent()
	user.User = true
	if r := w.Changes(user, params{}); r.Coverage == nil || r.Coverage.Note != "no browser is connected" {
		t.Errorf("when it is gone: %+v", r.Coverage)
	}
	if r := w.Changes(w.Agent(), params{}); r.Coverage == nil || r.Coverage.Note != "no browser is connected; open the page with browser_open" {
		t.Errorf("to an agent: %+v", r.Coverage)
	}
}

func TestALoadInProgressIsNotDOMReadable(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page, Watched: true})
	if r := w.Changes(w.Agent(), params{}); !r.DOMUnavailable {
		t.Errorf("%+v", r)
	}
}

func BenchmarkReport(b *testing.B) {
	w := enginetest.New(b, capture.Limits{})
	for i := range 1000 {
		w.Log("log", fmt.Sprint("line ", i))
	}
	for i := range 100 {
		w.Request("GET", fmt.Sprintf("/api/%d", i), 200, 5)
	}
	v := w.Store.View(w.Now)
	from := v.Start()
	b.ResetTimer()
	for b.Loop() {
		diff.Compute(from, v, window.Options{})
	}
}
